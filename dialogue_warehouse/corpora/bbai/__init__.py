"""The corpus BBAI, One Agent To Rule Them All."""
