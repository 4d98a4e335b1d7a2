"""Git entry points: hooks and CI templates call the store from here (to come)."""
