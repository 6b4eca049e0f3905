"""Any order of reserving, settling, refunding, forfeiting, late replies and takeovers: the books stay true."""

from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from runtime.core.ledger import ZERO, Amount, Ledger, Limits
from tests.support.examples import examples

LIMITS = Limits(calls=12, tokens=900, micro_usd=700)
amounts = some.builds(Amount, calls=some.just(1), tokens=some.integers(0, 120), micro_usd=some.integers(0, 90))
index = some.integers(0, 1_000)


def fits(amount):
    return amount.calls <= LIMITS.calls and amount.tokens <= LIMITS.tokens and amount.micro_usd <= LIMITS.micro_usd


class Books(RuleBasedStateMachine):
    """Keeps the same books twice: the ledger, and plain dictionaries of who owes what."""

    def __init__(self):
        super().__init__()
        self.ledger = Ledger(LIMITS)
        self.open, self.unknown, self.spent = {}, {}, ZERO
        self.count = 0

    def pick(self, names, place):
        return sorted(names)[place % len(names)]

    @rule(amount=amounts)
    def reserve(self, amount):
        if self.ledger.shortfall(amount, 0.0) is not None:
            assert not fits(self.ledger.committed + amount)
            return
        self.count += 1
        self.open[f"r{self.count}"] = amount
        self.ledger = self.ledger.reserve(f"r{self.count}", amount)
        assert fits(self.ledger.committed)

    @precondition(lambda self: self.open)
    @rule(place=index, share=some.floats(0.0, 1.0))
    def settle(self, place, share):
        name = self.pick(self.open, place)
        reserved = self.open.pop(name)
        cost = Amount(calls=1, tokens=int(reserved.tokens * share), micro_usd=int(reserved.micro_usd * share))
        self.spent += cost
        self.ledger = self.ledger.settle(name, cost)

    @precondition(lambda self: self.open)
    @rule(place=index)
    def refund(self, place):
        name = self.pick(self.open, place)
        del self.open[name]
        self.ledger = self.ledger.refund(name)

    @precondition(lambda self: self.open)
    @rule(place=index)
    def forfeit(self, place):
        name = self.pick(self.open, place)
        self.unknown[name] = self.open.pop(name)
        self.ledger = self.ledger.forfeit(name)

    @precondition(lambda self: self.unknown)
    @rule(place=index)
    def settle_late(self, place):
        name = self.pick(self.unknown, place)
        self.unknown.pop(name)
        self.spent += Amount(calls=1, tokens=1, micro_usd=1)
        self.ledger = self.ledger.settle(name, Amount(calls=1, tokens=1, micro_usd=1))

    @rule()
    def take_over(self):
        """The driver dies; the next one asks for all that is open again."""
        for name in list(self.open):
            amount = self.open.pop(name)
            self.unknown[name] = amount
            self.ledger = self.ledger.forfeit(name)
            if self.ledger.shortfall(amount, 0.0) is None:
                self.open[f"{name}'"] = amount
                self.ledger = self.ledger.reserve(f"{name}'", amount)

    @invariant()
    def the_books_agree(self):
        assert dict(self.ledger.reserved) == self.open
        assert dict(self.ledger.forfeited) == self.unknown
        assert self.ledger.spent == self.spent
        assert self.ledger.unknown == sum(self.unknown.values(), ZERO)

    @invariant()
    def no_limit_is_passed(self):
        """S25: no reply here uses more than it reserved, so the sum never passes a limit either."""
        assert fits(self.ledger.committed)


Books.TestCase.settings = examples(50, stateful_step_count=40)


class TestBooks(Books.TestCase):
    """S25: hard budgets, at any concurrency and across crashes."""
