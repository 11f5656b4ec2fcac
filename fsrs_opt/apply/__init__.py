"""Parameters written back into Anki's collection, and taken back again. How, and why so: docs/apply.md.

Names are loaded on first use: importing this package costs next to nothing.
"""
