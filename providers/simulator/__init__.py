"""A scriptable upstream: answers like a real provider, limits like one, and fails in every way they are known
to.

`app.Simulator` is the ASGI application, `server.serving` puts it on a socket, docs/simulator.md is its
manual. A request is read, decided upon by pure functions into a `plan` (what goes on the wire, and when), and
played.
"""
