"""Where the rows of a large table lie, and how integers about them are added up there."""
