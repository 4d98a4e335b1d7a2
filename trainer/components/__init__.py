"""The RFC's components: one module each, interchangeable behind `trainer.interfaces`."""
