"""One check per fault: what arrives on the wire."""
