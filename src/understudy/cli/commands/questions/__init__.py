"""Questions on private rows: ask and price them, serve them, limit who asks."""
