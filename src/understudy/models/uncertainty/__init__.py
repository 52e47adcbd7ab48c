"""How far a released number may be off."""
