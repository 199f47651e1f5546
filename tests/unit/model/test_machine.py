"""The papers' examples on the whole machine: stations, links, groupings, cycles, acker and barrier.

Every example runs under many seeds, so in many interleavings, on one worker and on several; what is
released must be what one item after the other would have given (invariant I12 of the model).

Catches: tombstones that miss their victims, cycles that lose or repeat a state, releases that are too
early or never come, results that depend on timing.  Does not catch: what SQL operators compute
(test_queries), or rows of one root that should have come in another order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import pytest

from fsql.compiler.graph import Broadcast, Map, Merge
from fsql.runtime.batch import START
from fsql.runtime.model.grouping import Grouping, GroupingRule
from fsql.runtime.model.papers import Apply, GroupBy, Input, Output
from fsql.runtime.model.trial import Trial, wire
from fsql.tests.unit.model.items import item

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from fsql.compiler.graph import Graph, Operation

    Wired = tuple[Operation, tuple[int, ...]]

SEEDS = range(12)
READ_AHEADS = (1, 4, 1000)
"""How far a front may be ahead of min time: hardly any disorder, some, and as much as there can be."""


def apply(function: Callable[[Any], Iterable[object]]) -> Map:
    return Map(Apply(function))


def group(key: Callable[[Any], Hashable], window: int) -> GroupBy:
    return GroupBy(GroupingRule(key, window))


def cycle(
    first: int,
    entry: int,
    key: Callable[[Any], Hashable],
    combine: Callable[[Any], Iterable[object]],
) -> list[Wired]:
    """Return a drifting-state cycle whose vertices start at `first`; states leave at `first` + 3."""
    return [
        (Merge(), (entry, first + 3)),
        (group(key, 2), (first,)),
        (apply(combine), (first + 1,)),
        (Broadcast(), (first + 2,)),
    ]


def dealt(values: Sequence[object], fronts: int) -> list[list[tuple[int, object]]]:
    """Deal values out to fronts; value i has time i, so the total order is that of the values."""
    return [list(enumerate(values))[front::fronts] for front in range(fronts)]


def runs(graph: Graph, fronts: Sequence[Sequence[tuple[int, object]]]) -> Iterable[Trial]:
    for seed in SEEDS:
        workers, read_ahead = 1 + seed % 3, READ_AHEADS[seed % 3]
        yield Trial(graph, fronts, seed=seed, workers=workers, read_ahead=read_ahead).run()


def test_u1_a_flat_map_yields_its_outputs_in_input_order() -> None:
    graph = wire(
        (Input(), ()),
        (apply(lambda n: [(n, ordinal) for ordinal in range(n % 4)]), (0,)),
        (Output(), (1,)),
    )
    for trial in runs(graph, dealt(range(20), 2)):
        assert trial.payloads == [(n, ordinal) for n in range(20) for ordinal in range(n % 4)]


def test_a1_four_chained_maps_over_four_fronts() -> None:
    graph = wire(
        (Input(), ()),
        *[(apply(lambda n: [n + 1]), (before,)) for before in range(4)],
        (Output(), (4,)),
    )
    for trial in runs(graph, dealt(range(100), 4)):
        assert trial.payloads == [n + 4 for n in range(100)]


def test_a2_a_broadcast_before_and_after_a_grouping_gives_every_item_16_times() -> None:
    copies = [(apply(lambda payload: [payload]), (1,)) for _ in range(4)]
    graph = wire(
        (Input(), ()),
        (Broadcast(), (0,)),
        *copies,
        (Merge(), (2, 3, 4, 5)),
        (group(lambda n: n, window=1), (6,)),
        (Broadcast(), (7,)),
        *[(operation, (8,)) for operation, _ in copies],
        (Merge(), (9, 10, 11, 12)),
        (Output(), (13,)),
    )
    for trial in runs(graph, dealt(range(15), 4)):
        assert trial.payloads == [(n,) for n in range(15) for _ in range(16)]


def test_the_grouping_of_odd_and_even_numbers() -> None:
    # FlameStream (2018), 2.5: (1), (2), (1|3), (2|4), (1|3|5), (2|4|6), (3|5|7), (4|6|8)
    graph = wire((Input(), ()), (group(lambda n: n % 2, window=3), (0,)), (Output(), (1,)))
    expected = [(1,), (2,), (1, 3), (2, 4), (1, 3, 5), (2, 4, 6), (3, 5, 7), (4, 6, 8)]
    for trial in runs(graph, dealt(range(1, 9), 3)):
        assert trial.payloads == expected


def test_a3_a_grouping_over_ten_keys_and_four_fronts() -> None:
    random = Random(3)
    values = [random.randrange(1000) for _ in range(200)]
    graph = wire((Input(), ()), (group(lambda n: n % 10, window=2), (0,)), (Output(), (1,)))
    last: dict[int, int] = {}
    expected = []
    for value in values:
        before = last.get(value % 10)
        expected.append((value,) if before is None else (before, value))
        last[value % 10] = value
    for trial in runs(graph, dealt(values, 4)):
        assert trial.payloads == expected


class Sum(NamedTuple):
    total: int


def add(window: tuple[Any, ...]) -> list[Sum]:
    match window:
        case (int(n),):
            return [Sum(n)]
        case (Sum(total), int(n)):
            return [Sum(total + n)]
        case _:
            return []


SUMMING = wire((Input(), ()), *cycle(1, 0, lambda _: "all", add), (Output(), (4,)))


@pytest.mark.parametrize(("fronts", "workers"), [(1, 1), (4, 1), (4, 2)])
def test_a4_a5_a6_drifting_sums_are_the_prefix_sums(fronts: int, workers: int) -> None:
    values = list(range(1, 61))
    expected = [Sum(sum(values[: end + 1])) for end in range(len(values))]
    for seed in SEEDS:
        trial = Trial(SUMMING, dealt(values, fronts), seed=seed, workers=workers).run()
        assert trial.payloads == expected


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a7_three_chained_groupings(workers: int) -> None:
    def bucket(salt: int) -> Callable[[Any], Hashable]:
        return lambda payload: crc32(repr((salt, payload)).encode()) % 5

    values = list(range(60))
    graph = wire((Input(), ()), *[(group(bucket(i), 2), (i,)) for i in range(3)], (Output(), (3,)))
    expected: list[object] = list(values)
    for salt in range(3):
        last: dict[Hashable, object] = {}
        windows: list[object] = []
        for payload in expected:
            key = bucket(salt)(payload)
            windows.append((last[key], payload) if key in last else (payload,))
            last[key] = payload
        expected = windows
    repairs = 0
    for seed in SEEDS:
        trial = Trial(graph, dealt(values, 3), seed=seed, workers=workers).run()
        assert trial.payloads == expected
        repairs += trial.metrics.repairs
    assert repairs > 0, "no interleaving put a grouping to the test"


class Mapped(NamedTuple):
    word: str


class Accumulator(NamedTuple):
    word: str
    counted: int


def count(window: tuple[Any, ...]) -> list[Accumulator]:
    match window:
        case (Mapped(word),):
            return [Accumulator(word, 1)]
        case (Accumulator(word, counted), Mapped()):
            return [Accumulator(word, counted + 1)]
        case _:
            return []


def test_word_count_in_its_four_steps() -> None:
    """FlameStream (2018), figure 6, one item after the other."""
    grouping = Grouping(0, GroupingRule(lambda payload: payload.word, 2))

    def step(payload: Any, time: int, child_ids: tuple[int, ...] = ()) -> tuple[object, object]:
        (window,) = grouping.accept(item(time, payload, child_ids), payload.word)
        return window.payload, count(window.payload)  # type: ignore[arg-type]

    first, second = Accumulator("dog", 1), Accumulator("dog", 2)
    dog = Mapped("dog")
    assert step(dog, 1) == ((dog,), [first])
    assert step(first, 1, (0, 0)) == ((dog, first), [])
    assert step(dog, 2) == ((first, dog), [second])
    assert step(second, 2, (0, 0)) == ((dog, second), [])


def test_e1_word_count() -> None:
    random = Random(1)
    lines = [" ".join(random.choice("abcdefgh") for _ in range(10)) for _ in range(15)]
    graph = wire(
        (Input(), ()),
        (apply(lambda line: [Mapped(word) for word in line.split()]), (0,)),
        *cycle(2, 1, lambda payload: payload.word, count),
        (Output(), (5,)),
    )
    counts: Counter[str] = Counter()
    expected = []
    for word in " ".join(lines).split():
        counts[word] += 1
        expected.append(Accumulator(word, counts[word]))
    for trial in runs(graph, dealt(lines, 2)):
        assert trial.payloads == expected


class Top(NamedTuple):
    best: tuple[Accumulator, ...]


def top_two(window: tuple[Any, ...]) -> list[Top]:
    match window:
        case (Accumulator() as counted,):
            best: tuple[Accumulator, ...] = (counted,)
        case (Top(before), Accumulator() as counted):
            best = (*(other for other in before if other.word != counted.word), counted)
        case _:
            return []
    return [Top(tuple(sorted(best, key=lambda each: (-each.counted, each.word))[:2]))]


def test_e3_the_two_most_frequent_words_by_two_levels_of_state() -> None:
    random = Random(5)
    words = random.choices("abcde", weights=[5, 4, 3, 2, 1], k=40)
    graph = wire(
        (Input(), ()),
        (apply(lambda word: [Mapped(word)]), (0,)),
        *cycle(2, 1, lambda payload: payload.word, count),
        *cycle(6, 5, lambda _: "all", top_two),
        (Output(), (9,)),
    )
    counts: Counter[str] = Counter()
    expected = []
    for word in words:
        counts[word] += 1
        best = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:2]
        expected.append(Top(tuple(Accumulator(*each) for each in best)))
    for trial in runs(graph, dealt(words, 3)):
        assert trial.payloads == expected


class Posting(NamedTuple):
    word: str
    page: int
    places: tuple[int, ...]


class Index(NamedTuple):
    """The postings of a word, and what the last page did to them."""

    word: str
    postings: tuple[Posting, ...]
    changes: tuple[tuple[str, Posting], ...]


def read_page(page: tuple[int, str]) -> list[Posting]:
    number, text = page
    places = defaultdict(list)
    for place, word in enumerate(text.split()):
        places[word].append(place)
    return [Posting(word, number, tuple(found)) for word, found in places.items()]


def index_posting(window: tuple[Any, ...]) -> list[Index]:
    match window:
        case (Posting() as posting,):
            return [Index(posting.word, (posting,), (("add", posting),))]
        case (Index(word, postings, _), Posting() as posting):
            old = tuple(other for other in postings if other.page == posting.page)
            kept = tuple(other for other in postings if other.page != posting.page)
            changes = (*(("remove", other) for other in old), ("add", posting))
            return [Index(word, (*kept, posting), changes)]
        case _:
            return []


def test_e4_an_inverted_index_and_its_changelog() -> None:
    random = Random(7)
    pages = [(random.randrange(5), " ".join(random.choices("abcd", k=4))) for _ in range(20)]
    graph = wire(
        (Input(), ()),
        (apply(read_page), (0,)),
        *cycle(2, 1, lambda payload: payload.word, index_posting),
        (apply(lambda index: index.changes), (5,)),
        (Output(), (6,)),
    )
    index: dict[tuple[str, int], Posting] = {}
    expected = []
    for page in pages:
        for posting in read_page(page):
            old = index.get((posting.word, posting.page))
            expected += [("add", posting)] if old is None else [("remove", old), ("add", posting)]
            index[posting.word, posting.page] = posting
    for trial in runs(graph, dealt(pages, 3)):
        assert trial.payloads == expected


def concatenate(window: tuple[Any, ...]) -> list[tuple[str]]:
    match window:
        case (str(letter),):
            return [(letter,)]
        case ((str(text),), str(letter)):
            return [(text + letter,)]
        case _:
            return []


CONCATENATION = wire(
    # Delivery, consistency, and determinism (2019), sections I and III: a non-commutative operation behind
    # two asynchronous channels.
    (Input(), ()),
    (Broadcast(), (0,)),
    (Map(Apply(lambda letter: [letter] if letter in "ace" else [], balance=ord)), (1,)),
    (Map(Apply(lambda letter: [letter] if letter in "bdf" else [], balance=ord)), (1,)),
    (Merge(), (2, 3)),
    *cycle(5, 4, lambda _: "all", concatenate),
    (Output(), (8,)),
)
LETTERS = [[(1, "a"), (4, "d"), (5, "e")], [(2, "b"), (3, "c"), (6, "f")]]


def test_concatenation_over_two_asynchronous_channels() -> None:
    for seed in range(60):
        trial = Trial(CONCATENATION, LETTERS, seed=seed).run()
        texts = [("a",), ("ab",), ("abc",), ("abcd",), ("abcde",), ("abcdef",)]
        assert trial.payloads == texts


def test_concatenation_goes_on_as_before_when_it_is_replayed_after_a_failure() -> None:
    """The machine fails after any number of steps, several times; positions make the replay agree."""
    restarts = 0
    for seed in range(40):
        random = Random(seed)
        consumer: list[object] = []
        last = START
        for attempt in range(4):
            steps = None if attempt == 3 else random.randrange(250)
            trial = Trial(CONCATENATION, LETTERS, seed=100 * seed + attempt).run(steps)
            # The consumer stores a bundle only if it follows what it has.
            for root, payload in trial.released:
                if root > last:
                    consumer.append(payload)
                    last = root
            restarts += 0 < len(consumer) < 6
        assert consumer == [("abcdef"[:length],) for length in range(1, 7)]
    assert restarts > 20, "hardly any failure came in the middle"


def test_a_late_item_costs_little_although_everything_behind_it_is_made_anew() -> None:
    """Two sums in a row over one key: a storm of repairs, if tombstones did not recall their victims."""
    graph = wire(
        (Input(), ()),
        *cycle(1, 0, lambda _: "all", add),
        (apply(lambda state: [state.total]), (4,)),
        *cycle(6, 5, lambda _: "all", add),
        (Output(), (9,)),
    )
    expected = [Sum(n * (n + 1) // 2) for n in range(1, 41)]
    messages = 0
    for seed in SEEDS:
        trial = Trial(graph, dealt([1] * 40, 4), seed=seed, read_ahead=1000).run()
        assert trial.payloads == expected
        assert trial.metrics.recalls > 0
        messages += trial.metrics.messages
    assert messages < 20_000  # Without recalls it is 40,000.


def test_a_run_follows_from_its_seed_and_its_result_does_not() -> None:
    fronts = dealt(list(range(40)), 3)
    first, again = (Trial(SUMMING, fronts, seed=9).run() for _ in range(2))
    assert first.metrics == again.metrics
    assert len({Trial(SUMMING, fronts, seed=seed).run().metrics for seed in SEEDS}) > 1
