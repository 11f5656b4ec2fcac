"""Our evaluation of searches against Anki's own: the same cards for every search that we understand."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsrs_opt.errors import UsageError
from fsrs_opt.sources import Collection, read
from fsrs_opt.sources.reading import opened
from fsrs_opt.sources.search import backend
from fsrs_opt.sources.search.conditions import Conditions
from fsrs_opt.sources.search.find import find_cards
from fsrs_opt.sources.search.parser import MAX_LENGTH, NotUnderstoodError, parse
from tests.anki_collections import anki_collection

TERMS = (
    *("deck:Medizin", "deck:medizin*", 'deck:"Medizin 2"', "deck:Medizin::*", "deck:a_b", r"deck:a\_b"),
    *("deck:Why?", "deck:star*", r"deck:star\*deck", r'deck:"quo\"te"', r"deck:par\(en\)", 'deck:"par(en)"'),
    *('"deck:par(en)"', r"deck:back\\slash", "deck:filtered", "deck:*", "deck:F1", "deck:Filter::F1"),
    *('deck:"übung é"', "deck:ÜBUNG_E\u0301", "deck:nowhere", r"deck:Medizin\:\:Anatomie", "deck:a-b"),
    *("preset:default", 'preset:"zwei übung"', "preset:zwei*", "preset:nowhere", 'preset:"Zwei_Übung"'),
    *("tag:a", "tag:A", "tag:a::b", "tag:a::*", "tag:a*", "tag:*b*", "tag:ärger", "tag:A\u0308rger"),
    *("tag:x_y", r"tag:x\_y", "tag:none", "tag:*", "tag:b", "tag:%", 'tag:"a b"'),
    *("note:basic", "note:Basic*", 'note:"basic (_nd*"', "note:cloze", "note:%", "note:nothing"),
    *("card:1", "card:2", "card:0", 'card:"card 2"', "card:Card*", "card:cloze", "card:nothing"),
    *("is:new", "is:learn", "is:review", "is:due", "is:suspended", "is:buried", "IS:new"),
    *("is:buried-manually", "is:buried-sibling", "flag:0", "flag:1", "flag:7"),
    *("added:1", "added:0", "added:10", "edited:1", "edited:5", "introduced:1", "introduced:9"),
    *("introduced:30", "rated:1", "rated:0", "rated:7", "rated:7:1", "rated:30:4", "rated:400"),
    *("prop:ivl>20", "prop:ivl=3", "prop:ivl!=3", "prop:ivl<=30", "prop:reps>3", "prop:lapses>=2"),
    *("prop:due<0", "prop:due=0", "prop:due>=1", "prop:due=-1", "prop:due<=2", "prop:pos<5"),
    *("prop:ease<2", "prop:ease>=1.5", "prop:ease=2.5", "did:1", "did:1,2", "nid:1", "cid:1,2", "mid:1"),
)
REFUSED = (
    *("front1", "a or b", "front:front1", "re:abc", "nc:abc", "w:abc", "tag:re:^a$", "tag:nc:arger"),
    *("prop:s>1", "prop:r<0.9", "prop:rated=-1", "resched:7", "has-cd:x", "deck:current", "dupe:1,2"),
    *("not is:new", "- is:new", "--is:new", '"-is:new"', r"is\:new", "*", "deck: a", "deck:par(en)"),
)
"""What means something in Anki that is not ours to find out."""

ERRORS = (
    *("is:foo", "is:SUSPENDED", "flag:8", "flag:", "added:-1", "added:", "rated:7:0", "rated:7:", "nid:a"),
    *("prop:ivl>2.5", "prop:ivl > 2", "is:new and", "or is:new", "is:new or or is:due", "()", "(is:new"),
    *("is:new)", '"is:new', 'deck:""', '""', r"deck:back\slash", ":a", "and", "mid:1,2", "cid:1,"),
)
"""What is an error in Anki."""


@dataclass(frozen=True)
class Both:
    """One collection, open in Anki and read by us."""

    anki: Any
    ours: Collection
    conditions: Conditions
    execute: Any

    def by_anki(self, search: str) -> set[int]:
        return set(self.anki.find_cards(search))

    def by_us(self, search: str) -> set[int]:
        return {
            row[0]
            for row in self.execute(
                "select c.id from cards c left join notes n on n.id = c.nid where "
                + self.conditions.of(parse(search))
            )
        }


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    path = tmp_path_factory.mktemp("search") / "collection.anki2"
    anki_collection(path)
    yield from _both(path)


def _both(path: Path) -> Iterator[Both]:
    from anki.collection import Collection as AnkiCollection

    copy = path.with_name("copy.anki2")
    shutil.copyfile(path, copy)
    anki, ours = AnkiCollection(str(copy)), read(path)
    with opened(path) as database:
        yield Both(anki, ours, Conditions(ours, database.connection), database.connection.execute)
    anki.close()


def test_terms(both: Both) -> None:
    sizes = {}
    for term in TERMS:
        assert both.by_us(term) == both.by_anki(term), term
        sizes[term] = len(both.by_us(term))
    found = [term for term, size in sizes.items() if 0 < size < 200]
    assert len(found) > 70  # the collection has something of nearly everything


@pytest.mark.parametrize(
    "search",
    [
        "is:new -is:suspended",
        'preset:"Default" -is:suspended',
        'preset:"Zwei Übung" -is:suspended -tag:leech -flag:1',
        "deck:Medizin or tag:a is:review",
        "is:review OR is:new and -tag:a",
        "(deck:a_b or deck:axb) -(is:new or flag:2)",
        "-(-(is:new))",
        "is:new(flag:1)",
        '(is:new)"flag:0"tag:a',
        'deck:"Medizin"is:new',
        "deck:Medizin\u3000is:new",
        "deck:Medizin\tis:new",
        " ( is:new ) ",
        '-"is:new"',
        "-deck:filtered is:review",
        "",
        "   ",
    ],
)
def test_grammar(both: Both, search: str) -> None:
    assert both.by_us(search) == both.by_anki(search)


@pytest.mark.parametrize("search", ERRORS)
def test_what_is_an_error_in_anki_is_not_understood(both: Both, search: str) -> None:
    with pytest.raises(Exception, match="Invalid search"):
        both.by_anki(search)
    with pytest.raises(NotUnderstoodError):
        both.by_us(search)


@pytest.mark.parametrize("search", REFUSED)
def test_what_is_not_ours_is_refused_and_anki_does_it(both: Both, search: str) -> None:
    with pytest.raises(NotUnderstoodError):
        both.by_us(search)
    found = find_cards(both.ours, {7: search})
    assert set(found.of(7, "X").tolist()) == both.by_anki(search)
    assert found.by_anki == (7,)


SEARCHES = st.recursive(
    st.sampled_from(TERMS),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" ", " and ", " or ", " OR ", "  "]), inner).map("".join),
        inner.map("-({})".format),
        inner.map("({})".format),
    ),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(search=SEARCHES)
def test_any_combination(both: Both, search: str) -> None:
    assert both.by_us(search) == both.by_anki(search)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    search=st.text(
        st.sampled_from('deckistagprop:new1()"\\*_- <>=.,\t\n\u3000') | st.characters(), max_size=30
    )
    | st.lists(st.sampled_from([*TERMS, "-", "(", ")", " ", '"', "or", "and", "\\"]), max_size=8).map(
        " ".join
    )
)
def test_any_text_gives_anki_s_cards_or_is_not_understood(both: Both, search: str) -> None:
    try:
        ours = both.by_us(search)
    except NotUnderstoodError:
        return
    assert ours == both.by_anki(search)


@pytest.mark.parametrize("search", ["(" * 1000 + "is:new" + ")" * 1000, "is:new " * MAX_LENGTH, "-" * 5000])
def test_endless_searches_are_not_understood(both: Both, search: str) -> None:
    with pytest.raises(NotUnderstoodError):
        both.by_us(search)


@pytest.mark.parametrize("name", ["schema11.anki2", "schema18.anki2", "schema14_sched1.anki2"])
def test_other_schemas(shared_fixtures: Path, tmp_path: Path, name: str) -> None:
    pytest.importorskip("anki.collection")
    path = tmp_path / name
    shutil.copyfile(shared_fixtures / name, path)
    searches = ("note:*", "note:basic*", "card:1", "card:card*", "deck:medizin", "deck:filtered", "is:new")
    more = ("preset:default", "tag:none", "flag:1", "prop:ivl>10", "prop:reps>3", "deck:a*", "is:suspended")
    for both in _both(path):
        for search in (*searches, *more):
            assert both.by_us(search) == both.by_anki(search), search


def test_without_the_anki_package_the_term_is_named(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "anki.collection", None)
    found = find_cards(both.ours, {1: "deck:Medizin front:x*", 2: "deck:Medizin"})
    assert len(found.of(2, "B")) == len(both.by_anki("deck:Medizin"))
    with pytest.raises(UsageError) as caught:
        found.of(1, "A")
    message = str(caught.value)
    assert message.startswith("The preset “A” cannot be selected: its search “deck:Medizin front:x*” holds")
    assert "(“front:x*”)" in message
    assert "fsrs-opt[anki]" in message
    assert "--deck" in message


def test_anki_works_on_a_copy_and_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "collection.anki2"
    anki_collection(path)
    before, beside = path.read_bytes(), sorted(tmp_path.iterdir())
    found = find_cards(read(path), {1: "front1"})
    assert found.by_anki == (1,)
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == beside


def test_a_search_that_is_an_error_in_anki_says_what_anki_says(both: Both) -> None:
    found = find_cards(both.ours, {1: "is:foo"})
    with pytest.raises(UsageError, match="Anki makes no sense of its search “is:foo”") as caught:
        found.of(1, "A")
    assert "\n" not in str(caught.value)


def test_suspension_can_be_left_out_of_account(both: Both) -> None:
    everything = both.by_anki("deck:Medizin")
    for search in ("deck:Medizin -is:suspended", "deck:Medizin -is:suspended (front:* or -front:*)"):
        found = find_cards(both.ours, {1: search}, ignore_suspended=True)
        assert set(found.of(1, "A").tolist()) == everything
        assert both.by_anki(search) < everything


def test_a_collection_that_anki_cannot_open_is_one_sentence(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: str) -> None:
        raise RuntimeError("too\nnew")

    monkeypatch.setattr("anki.collection.Collection", refuse)
    with opened(both.ours.source.path) as database, pytest.raises(Exception, match=r"\(?too new"):
        backend.find_cards(database, "front1", "“front1”")
