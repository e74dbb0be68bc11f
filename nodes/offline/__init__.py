"""Every rule that answers where no model does."""
