"""A planning task: a domain and a problem in PDDL, as the texts that a run is given and as what is read from them."""

from functools import lru_cache

from actors.pddl.domain import PddlDomain, PddlProblem
from actors.pddl.domain_reader import read_domain, read_problem
from actors.values.given import PddlTexts


@lru_cache(maxsize=16)
def task_in(texts: PddlTexts, domain: str = "domain", problem: str = "problem") -> tuple[PddlDomain, PddlProblem]:
    """Return the domain and the problem in texts; `domain` and `problem` are the names of their files.

    Raises:
        UsageProblem: for texts that cannot be read, a line with the place.
    """
    read = read_domain(texts.domain, domain)
    return read, read_problem(texts.problem, problem, read)


def specification(texts: PddlTexts) -> str:
    """Return a task as the text of a user's problem, without comments: these are for people, not what is asked for."""
    domain, problem = task_in(texts)
    title = f"{problem.name or 'problem'} ({domain.name or 'domain'}, PDDL)"
    return "\n\n".join((title, _bare(texts.domain), _bare(texts.problem)))


def _bare(text: str) -> str:
    lines = (line.split(";", 1)[0].rstrip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line).strip()
