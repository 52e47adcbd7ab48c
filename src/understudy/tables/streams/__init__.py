"""Rows that live elsewhere, streamed once into a private relation. PRIVATE."""
