"""What the methods share: the interface, linear models, networks, fairlearn's constraints. No method is found here."""
