"""How a reply in labelled lines is read: what is live in it, and what it asks for."""
