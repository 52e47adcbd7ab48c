"""The studio: the same work in a web page on the custodian's own machine."""
