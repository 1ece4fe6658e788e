"""The accounts are shared evenly, by as few moves as that takes, and nothing goes back and forth."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from filedrop.daemon.balance import STAYS, to_spare, to_take
from filedrop.model.hosts import CHORES, Host, Lease, Seen, lease_of

NOON = 1_000_000.0


def host(name: str) -> Host:
    return Host(name, f"process of {name}", 1, 15.0, "state", "boot", "1", "{}", is_draining=False, at=NOON)


class Cluster:
    """Hosts by their names, and which of them has which account: each takes and gives as `balance` says."""

    def __init__(self, serving: dict[str, list[str]], chores: str = "") -> None:
        self.hosts = {name: host(name) for name in serving}
        self.now = NOON
        self.blind: set[str] = set()  # hosts that see no folder
        self.moves: list[tuple[float, str]] = []  # by themselves
        had = {account: name for name, accounts in serving.items() for account in accounts}
        self.leases = {lease_of(account): self._lease(account, name, before="") for account, name in had.items()}
        self.known = list(self.leases)
        if chores:
            self.leases[CHORES] = Lease(CHORES, f"process of {chores}", chores, NOON, "", "")

    def _lease(self, account: str, name: str, before: str) -> Lease:
        return Lease(lease_of(account), f"process of {name}" if name else "", name, self.now, before, "")

    @property
    def seen(self) -> Seen:
        return Seen(1, self.hosts, self.leases)

    def takes(self) -> dict[Host, list[str]]:
        """What each host would take from another."""
        return {here: [] if here.name in self.blind else self.known for here in self.hosts.values()}

    def counts(self) -> dict[str, int]:
        return {name: len(self.seen.leases_of(here.incarnation) - {CHORES}) for name, here in self.hosts.items()}

    def turn(self) -> None:
        """Each host looks: one gives up an account, another takes it."""
        able = list(self.hosts.values())
        offered = [
            (here.name, spare[0])
            for here in able
            if (spare := to_spare(here, self.takes(), self.seen, self.known, self.now))
        ]
        assert len(offered) <= 1
        for _, name in offered:
            self.leases[name] = self.leases[name]._replace(incarnation="")
            self.moves.append((self.now, name))
            self.take()

    def take(self) -> None:
        """What is free is taken by one host each."""
        able, seen = list(self.hosts.values()), Seen(1, self.hosts, dict(self.leases))
        free = [name for name in self.known if not seen.is_taken(name)]
        taken = [(here, name) for here in able for name in to_take(here, able, seen, free)]
        assert sorted(name for _, name in taken) == sorted(free)
        for here, name in taken:
            lease = self.leases[name]
            if here.name != lease.host:
                lease = lease._replace(host=here.name, before=lease.host, since=self.now)
            self.leases[name] = lease._replace(incarnation=here.incarnation)

    def fail(self, name: str) -> None:
        """A host dies; what it served is taken."""
        dead = self.hosts.pop(name)
        for lease in list(self.leases.values()):
            if lease.incarnation == dead.incarnation:
                self.leases[lease.name] = lease._replace(incarnation="")
        self.take()


def test_a_second_host_takes_half() -> None:
    cluster = Cluster({"a": ["north", "south", "west", "east"], "b": []}, chores="a")
    for _ in range(10):
        cluster.turn()
    assert cluster.counts() == {"a": 2, "b": 2}
    assert len(cluster.moves) == 2


def test_one_account_stays_where_it_is() -> None:
    cluster = Cluster({"a": ["north"], "b": []})
    cluster.turn()
    assert cluster.moves == []


def test_what_has_just_moved_stays() -> None:
    """A host that fails as soon as it serves gets each account once in ten minutes."""
    cluster = Cluster({"a": ["north", "south", "west", "east"]})
    while cluster.now < NOON + 1000:
        cluster.hosts["b"] = host("b")
        for _ in range(3):
            cluster.now += 1
            cluster.turn()
        cluster.fail("b")
        cluster.now += 20
    for account in cluster.known:
        moments = [moment for moment, name in cluster.moves if name == account]
        assert moments
        assert all(later - earlier >= STAYS for earlier, later in pairwise(moments))


def test_what_a_person_has_drained_does_not_come_back() -> None:
    cluster = Cluster({"a": [], "b": ["north", "south"]})
    cluster.leases = {name: lease._replace(drained="a") for name, lease in cluster.leases.items()}
    cluster.turn()
    assert cluster.moves == []


def test_a_host_that_sees_no_folder_gets_nothing() -> None:
    cluster = Cluster({"a": ["north", "south"], "b": []})
    cluster.blind = {"b"}
    cluster.turn()
    assert cluster.moves == []


def test_a_clock_that_was_set_back_keeps_nothing() -> None:
    cluster = Cluster({"a": ["north", "south"], "b": []})
    cluster.leases = {name: lease._replace(before="b") for name, lease in cluster.leases.items()}
    cluster.turn()
    assert cluster.moves == []
    cluster.now = NOON - 3600
    cluster.turn()
    assert cluster.counts() == {"a": 1, "b": 1}


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.data())
def test_even_in_the_end(numbers: list[int], data: st.DataObject) -> None:
    """However they begin, each host ends with as many accounts as another or one less, by the fewest moves."""
    names = "abcde"[: len(numbers)]
    serving = {name: [f"{name}{nth}" for nth in range(number)] for name, number in zip(names, numbers, strict=True)}
    cluster = Cluster(serving, chores=data.draw(st.sampled_from(names)))
    for _ in range(sum(numbers) + 1):
        cluster.turn()
    counts = cluster.counts().values()
    assert max(counts) - min(counts) <= 1
    moved, share = len(cluster.moves), sum(numbers) // len(numbers)
    assert moved == max(sum(max(0, n - share - 1) for n in numbers), sum(max(0, share - n) for n in numbers))
    cluster.now += 2 * STAYS
    cluster.turn()
    assert len(cluster.moves) == moved
