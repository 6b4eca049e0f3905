"""Records what a journal acknowledged or returned, to compare it with the content after a power loss."""

from runtime.core.errors import RunNotFound


class Recorder:
    """The acknowledged writes over all openings of one journal, and the attempted ones."""

    def __init__(self):
        self.admitted, self.records, self.posts, self.attempts = set(), {}, {}, {}

    def recording(self, journal):
        return RecordedJournal(journal, self)

    def acknowledge(self, run, records):
        """Note records that the journal returned."""
        known = self.records.setdefault(run, [])
        for record in records:
            if record.seq > len(known):
                known.append(record)
            assert known[record.seq - 1] == record, f"record {record.seq} of {run} has changed"

    async def check(self, journal):
        """Check that every acknowledged write is there, and each attempted batch completely or not at all."""
        for run in sorted(self.admitted | set(self.attempts)):
            known = self.records.get(run, [])
            try:
                records = await journal.read(run)
            except RunNotFound:
                assert run not in self.admitted, f"the run {run} was admitted, and is lost"
                assert not known
                continue
            assert records, f"the run {run} is there without a record"
            assert records[: len(known)] == known, f"what was acknowledged of {run} is lost"
            rest = [record.event for record in records[len(known) :]]
            assert not rest or rest in self.attempts[run].get(len(known), []), (
                f"an incomplete batch of {run} is there: {rest}"
            )
            assert (await journal.row(run)).last_seq == len(records)
        for (run, key), (inbox, body) in self.posts.items():
            held = {item.inbox: (item.key, item.body) for item in await journal.inbox(run)}
            assert held.get(inbox) == (key, body), f"the message {key} of {run} was accepted, and is lost"


class RecordedJournal:
    def __init__(self, journal, recorder):
        self._journal, self._recorder = journal, recorder

    def __getattr__(self, name):
        return getattr(self._journal, name)

    async def create(self, run, title, *kind, facts=(), **keys):
        attempts = self._recorder.attempts.setdefault(run, {})
        attempts.setdefault(0, []).append([fact.event for fact in facts])
        records = await self._journal.create(run, title, *kind, facts=facts, **keys)
        self._recorder.admitted.add(run)
        self._recorder.acknowledge(run, records)
        return records

    async def append(self, run, *, after, facts, **keys):
        attempts = self._recorder.attempts.setdefault(run, {})
        attempts.setdefault(after, []).append([fact.event for fact in facts])
        records = await self._journal.append(run, after=after, facts=facts, **keys)
        self._recorder.acknowledge(run, records)
        return records

    async def read(self, run, after=0):
        records = await self._journal.read(run, after)
        self._recorder.acknowledge(run, records)
        return records

    async def post(self, run, key, body):
        posted = await self._journal.post(run, key, body)
        self._recorder.posts[run, key] = posted.inbox, posted.body
        return posted
