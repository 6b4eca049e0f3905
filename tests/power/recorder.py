"""A journal beside which a recorder notes what it has promised: what it acknowledged, and what it let anybody read."""

from runtime.core.errors import RunNotFound


class Recorder:
    """What was promised over all openings of one journal, and what was only tried."""

    def __init__(self):
        self.admitted, self.records, self.posts, self.tried = set(), {}, {}, {}

    def recording(self, journal):
        """Return the journal, watched."""
        return RecordedJournal(journal, self)

    def acknowledge(self, run, records):
        """Note records that somebody has heard of."""
        known = self.records.setdefault(run, [])
        for record in records:
            if record.seq > len(known):
                known.append(record)
            assert known[record.seq - 1] == record, f"record {record.seq} of {run} has changed"

    async def check(self, journal):
        """Check that every promise is kept, and that of what was only tried there is all or nothing."""
        for run in sorted(self.admitted | set(self.tried)):
            told = self.records.get(run, [])
            try:
                found = await journal.read(run)
            except RunNotFound:
                assert run not in self.admitted, f"the run {run} was admitted, and is lost"
                assert not told
                continue
            assert found[: len(told)] == told, f"what was acknowledged of {run} is lost"
            rest = [record.event for record in found[len(told) :]]
            assert not rest or rest in self.tried[run].get(len(told), []), f"half of a batch of {run} is there: {rest}"
            assert (await journal.row(run)).last_seq == len(found)
        for (run, key), (inbox, body) in self.posts.items():
            held = {item.inbox: (item.key, item.body) for item in await journal.inbox(run)}
            assert held.get(inbox) == (key, body), f"the message {key} of {run} was accepted, and is lost"


class RecordedJournal:
    """The journal that a program sees."""

    def __init__(self, journal, recorder):
        self._journal, self._witness = journal, recorder

    def __getattr__(self, name):
        return getattr(self._journal, name)

    async def create(self, run, title, *kind):
        await self._journal.create(run, title, *kind)
        self._witness.admitted.add(run)

    async def append(self, run, *, after, facts, **keys):
        tried = self._witness.tried.setdefault(run, {})
        tried.setdefault(after, []).append([fact.event for fact in facts])
        records = await self._journal.append(run, after=after, facts=facts, **keys)
        self._witness.acknowledge(run, records)
        return records

    async def read(self, run, after=0):
        records = await self._journal.read(run, after)
        self._witness.acknowledge(run, records)
        return records

    async def post(self, run, key, body):
        posted = await self._journal.post(run, key, body)
        self._witness.posts[run, key] = posted.inbox, posted.body
        return posted
