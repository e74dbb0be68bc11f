"""The published tables again, from the authors' released files: each printed cell beside ours, by paper."""
