"""The gate: does a candidate do harm, and is it progress? Both sides are measured on the same draws."""
