"""Anki's search language, as far as presets use it, on a collection that is only read.

parser: text -> tree; conditions: tree -> a condition of SQL; find: the cards; backend: what is beyond, by
Anki's own code on a copy. An evaluator of our own, because the searches that people store in presets (a
preset or deck, less some tags or flags) must work without the `anki` package, which is an extra, and need no
copy of the collection. It is strict: what it is not sure to understand as Anki does, it refuses.
"""
