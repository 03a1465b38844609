"""An index of all of MusicBrainz in one file: built from a dump, read without a network."""
