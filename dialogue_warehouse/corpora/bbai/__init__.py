"""The room of BBAI, One Agent To Rule Them All."""
