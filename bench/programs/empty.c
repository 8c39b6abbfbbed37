/* The library with nothing in it, that the preload tax is measured against. */
