"""How results are shown: text for a person, JSON, HTML."""
