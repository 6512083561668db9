// A target needs a source to carry a precompiled header.
