"""Reading a reply of a model as the first step it takes."""
