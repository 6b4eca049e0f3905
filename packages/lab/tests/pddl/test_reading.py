"""What is malformed, hostile or not supported is refused in a line with the file, the line and the cause."""

import time

import pytest

from packages.lab.tests.pddl.worlds import BLOCKS, ROOMS, TWO
from replan_lab.pddl.action_list import ACTIONS_MAX, read_plan_actions
from replan_lab.pddl.domain import Atom, Literal
from replan_lab.pddl.domain_reader import PddlTexts, read_domain, read_problem, specification
from replan_lab.pddl.expressions import BYTES_MAX, WORDS_MAX
from runtime.core.errors import UsageProblem


def domain_with(action="", sections="", requirements=":strips"):
    """Return a domain whose third line has the action."""
    return f"""(define (domain d) (:requirements {requirements}) {sections}
(:predicates (p) (q ?x))
{action})"""


def effect(text):
    return domain_with(f"(:action a :parameters (?x) :effect {text})")


def condition(text):
    return domain_with(f"(:action a :parameters (?x) :precondition {text})")


DOMAINS = {
    "": "d: the file is empty (a domain begins with (define (domain NAME))",
    "(define (domain d": "d:1: a ( is never closed (add the missing ))",
    "(define (domain d)))": "d:1: a closing parenthesis has no opening parenthesis (remove it, or add the opening one)",
    "(define (domain d))\n(x)": "d:2: (x) comes after the end of the domain (remove a surplus closing parenthesis)",
    TWO: "d:1: (problem two) is not (domain NAME) (a domain begins with (define (domain NAME))",
    domain_with(requirements=":strips\n:numeric-fluents"): "d:2: the requirement `:numeric-fluents` is not supported",
    domain_with(requirements=":tyypng"): "d:1: the requirement `:tyypng` is unknown (did you mean ':typing'?)",
    domain_with("(:durative-action a)"): "d:3: `:durative-action` is not supported",
    domain_with("(:derived (p) (q ?x))"): "d:3: `:derived` is not supported",
    domain_with("(:predicates (r))"): "d:3: the section :predicates is given twice (join the two sections)",
    domain_with("(:action)"): "d:3: an action has no name",
    domain_with("(:action a :parameters () :observe (p))"): "d:3: `:observe` in an action is not supported",
    domain_with("(:action a :parameters)"): "d:3: :parameters of the action a has no value",
    domain_with("(:action a)(:action A)"): "d:3: the action a is defined twice (give each its own name)",
    domain_with("(:action a :parameters (x))"): "d:3: x is not a variable (a variable begins with ?)",
    domain_with("(:action a :parameters (?x ?x))"): "d:3: the variable ?x is declared twice",
    domain_with("(:action a :parameters (?x - thing))"): "d:3: the type thing is not declared",
    domain_with("(:action a :parameters (?x - (either b c)))"): "d:3: `either` as a type is not supported",
    domain_with(sections="(:types a - b b - a)"): "d:1: the supertypes of a form a cycle",
    condition("(or (p) (q ?x))"): "d:3: `or` is not supported",
    condition("(forall (?y) (q ?y))"): "d:3: `forall` is not supported",
    condition("(exists (?y) (q ?y))"): "d:3: `exists` is not supported",
    condition("(imply (p) (q ?x))"): "d:3: `imply` is not supported",
    condition("(not (and (p) (q ?x)))"): "d:3: `not` before `and` is not supported",
    condition("(> (cost) 3)"): "d:3: `>` is not supported",
    condition("(qq ?x)"): "d:3: the predicate qq is not declared (did you mean 'q'?)",
    condition("(q ?y)"): "d:3: ?y is not a declared variable",
    condition("(q b)"): "d:3: b is not a declared object",
    condition("(q (q ?x))"): "d:3: (q ?x) is not an object or a variable",
    condition("(q)"): "d:3: (q) has 0 terms, but q takes 1",
    condition("p"): "d:3: p must be in parentheses",
    condition("((p))"): "d:3: ((p)) does not begin with a name",
    effect("(forall (?y) (q ?y))"): "d:3: `forall` is not supported",
    effect("(probabilistic 0.5 (p))"): "d:3: `probabilistic` is not supported",
    effect("(increase (fuel) 1)"): "d:3: `increase` is not supported",
    effect("(when (p))"): "d:3: `when` takes a condition and an effect",
    effect("(oneof)"): "d:3: `oneof` has no alternative (give it two alternatives)",
    effect("(= ?x ?x)"): "d:3: an effect cannot change =",
    condition("(and " * 60 + ")" * 60): "d:3: more than 50 expressions are nested (nest fewer expressions)",
    condition(f"({'x' * 300})"): "d:3: a word has 300 characters; at most 200 are allowed",
    "(" * 100_000: "d:1: more than 50 expressions are nested (nest fewer expressions)",
    "x " * (WORDS_MAX + 1): f"d:1: the text has more than {WORDS_MAX:,} words and parentheses (make the file smaller)",
    ";" * (BYTES_MAX + 1): f"d: the text has more than {BYTES_MAX:,} bytes (use a PDDL file of at most 4 MiB)",
}


@pytest.mark.parametrize("number", range(len(DOMAINS)))
def test_a_domain_that_is_refused_says_so_in_one_line(number):
    text, says = list(DOMAINS.items())[number]
    with pytest.raises(UsageProblem) as refused:
        read_domain(text, "d")
    assert str(refused.value).startswith(says)
    assert len(str(refused.value).splitlines()) == 1
    assert len(str(refused.value)) < 300


PROBLEMS = {
    BLOCKS: "p:2: (domain blocks) is not (problem NAME)",
    "(define (problem p) (:domain d))": "p: the problem has no :init",
    "(define (problem p) (:init))": "p: the problem has no :goal",
    "(define (problem p) (:init)\n(:goal))": "p:2: :goal takes one condition (join several conditions by `and`)",
    "(define (problem p) (:init)\n(:constraints (p)))": "p:2: `:constraints` is not supported",
    TWO.replace("(ontable a)", "(ontable c)"): "p:3: c is not a declared object",
    TWO.replace("(ontable a)", "(oneof (clear a) (clear b))"): "p:3: `oneof` is not supported",
    TWO.replace("(ontable a)", "(= (cost) 3)"): "p:3: (cost) is not an object or a variable",
    TWO.replace("(ontable a)", "(at 5 (handempty))"): "p:3: `at` is not supported",
    TWO.replace("a b - block", "a - block a - cube"): "p:2: the type cube is not declared",
    TWO.replace("(on a b)", "(on a ?x)"): "p:4: ?x is not a declared variable",
}


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_a_problem_that_is_refused_says_so_in_one_line(number):
    text, says = list(PROBLEMS.items())[number]
    with pytest.raises(UsageProblem) as refused:
        read_problem(text, "p", read_domain(BLOCKS, "d"))
    assert str(refused.value).startswith(says)


PLANS = {
    "(a b)\nunstack b a": "plan:2: unstack is not an action (an action is (name object ...))",
    "(a b)\n()": "plan:2: () is not an action",
    "(a (b))": "plan:1: (a (b)) is not an action",
    "0: (a)\n0: (b)": "plan:2: simultaneous actions are not supported (give each action a larger number)",
    "0: (a) [5]": "plan:1: the duration [5] is not supported (leave durations out)",
    "(a)" * (ACTIONS_MAX + 1): f"plan:1: more than {ACTIONS_MAX:,} actions (check the plan in parts)",
}


@pytest.mark.parametrize("number", range(len(PLANS)))
def test_a_text_that_is_no_plan_says_so_in_one_line(number):
    text, says = list(PLANS.items())[number]
    with pytest.raises(UsageProblem) as refused:
        read_plan_actions(text, "plan")
    assert str(refused.value).startswith(says)


def test_a_plan_may_have_comments_numbers_and_capitals():
    actions = read_plan_actions("; found\n0: (PICK-UP a)\n1.500: (stack A b) ; cost\n", "plan")
    assert [(str(action), action.line) for action in actions] == [("(pick-up a)", 2), ("(stack a b)", 3)]


def test_types_constants_and_costs_are_read():
    domain = read_domain(
        """(define (domain d) (:requirements :adl :action-costs)
        (:types truck - vehicle vehicle - thing place)
        (:constants depot - place)
        (:predicates (at ?v - vehicle ?p - place))
        (:functions (total-cost) - number (far ?a ?b - place) - number)
        (:action go :parameters (?t - truck ?p - place) :precondition (at ?t ?p)
          :effect (and (at ?t depot) (increase (total-cost) (far ?p depot)))))""",
        "d",
    )
    assert [domain.is_a("truck", kind) for kind in ("vehicle", "thing", "object", "place")] == [True, True, True, False]
    assert domain.actions["go"].effect.literals == (Literal(Atom("at", ("?t", "depot"))),)
    problem = read_problem(
        """(define (problem p) (:domain d) (:objects t1 - truck home - place)
        (:init (at t1 home) (not (at t1 depot)) (= (total-cost) 0) (= (far home depot) 7))
        (:goal (and (at t1 depot))) (:metric minimize (total-cost)))""",
        "p",
        domain,
    )
    assert problem.initial == {Atom("at", ("t1", "home"))}
    assert problem.objects == {"depot": "place", "t1": "truck", "home": "place"}


def test_a_declared_predicate_may_have_the_name_of_a_word_of_pddl():
    domain = read_domain("(define (domain d) (:predicates (at ?x) (over))(:action a :effect (and (over))))", "d")
    assert domain.actions["a"].effect.literals == (Literal(Atom("over")),)


def test_the_action_of_each_domain_keeps_its_line():
    assert [action.line for action in read_domain(ROOMS, "d").actions.values()] == [5, 9, 10, 12]


LONG_CHAIN = f"(:types {' '.join(f't{n} - t{n + 1}' for n in range(60_000))})"
MANY_ACTIONS = "".join(f"(:action a{n})" for n in range(70_000))


@pytest.mark.parametrize("text", [domain_with(sections=LONG_CHAIN), domain_with(MANY_ACTIONS)])
def test_a_large_domain_is_read_in_a_time_that_grows_with_its_size(text):
    began = time.process_time()
    domain = read_domain(text, "d")
    assert max(len(domain.supertypes), len(domain.actions)) > 60_000
    assert time.process_time() - began < 5.0


def test_spaces_and_comments_of_a_task_are_left_out_in_a_time_that_grows_with_its_size():
    texts = PddlTexts(domain=f"{BLOCKS}{' ' * 2**20}", problem=f"{TWO}\n \n{' ' * 2**20};\n; end")
    began = time.process_time()
    bare = specification(texts)
    assert time.process_time() - began < 2.0
    assert (
        bare
        == f"two (blocks, PDDL)\n\n```pddl\n{BLOCKS.partition(chr(10))[2].strip()}\n```\n\n```pddl\n{TWO.strip()}\n```"
    )
