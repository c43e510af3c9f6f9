"""The developer guide: one content, drawn as a page, as Markdown and as JSON. Nothing in it is typed twice."""
