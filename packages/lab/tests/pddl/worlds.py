"""Domains, problems and plans in PDDL that the tests share."""

BLOCKS = """; blocks on a table
(define (domain blocks)
  (:requirements :strips :typing :negative-preconditions)
  (:types block)
  (:predicates (on ?x ?y - block) (ontable ?x - block) (clear ?x - block) (handempty) (holding ?x - block))
  (:action pick-up :parameters (?x - block)
    :precondition (and (clear ?x) (ontable ?x) (handempty))
    :effect (and (not (ontable ?x)) (not (clear ?x)) (not (handempty)) (holding ?x)))
  (:action put-down :parameters (?x - block)
    :precondition (holding ?x)
    :effect (and (not (holding ?x)) (clear ?x) (handempty) (ontable ?x)))
  (:action stack :parameters (?x ?y - block)
    :precondition (and (holding ?x) (clear ?y) (not (= ?x ?y)))
    :effect (and (not (holding ?x)) (not (clear ?y)) (clear ?x) (handempty) (on ?x ?y)))
  (:action unstack :parameters (?x ?y - block)
    :precondition (and (on ?x ?y) (clear ?x) (handempty))
    :effect (and (holding ?x) (clear ?y) (not (clear ?x)) (not (handempty)) (not (on ?x ?y)))))
"""
TWO = """(define (problem two) (:domain blocks)
  (:objects a b - block)
  (:init (ontable a) (on b a) (clear b) (handempty))
  (:goal (and (on a b) (not (holding b)))))
"""
SWAP = "(unstack b a)\n(put-down b)\n(pick-up a)\n(stack a b) ; cost = 4\n"

ROOMS = """(define (domain rooms)
  (:requirements :typing :negative-preconditions :conditional-effects :non-deterministic)
  (:types room robot - object)
  (:predicates (in ?r - robot ?x - room) (carries ?r - robot) (parcel ?x - room) (lit ?x - room) (wet ?r - robot))
  (:action move :parameters (?r - robot ?from ?to - room)
    :precondition (in ?r ?from)
    :effect (and (not (in ?r ?from)) (in ?r ?to)
      (when (and (carries ?r) (parcel ?from)) (and (not (parcel ?from)) (parcel ?to)))))
  (:action take :parameters (?r - robot) :precondition (not (carries ?r)) :effect (carries ?r))
  (:action try-to-take :parameters (?r - robot) :precondition (not (carries ?r))
    :effect (oneof (carries ?r) (and)))
  (:action shower :parameters (?r - robot) :effect (oneof (wet ?r) (not (wet ?r)))))
"""
PARCEL = """(define (problem parcel) (:domain rooms)
  (:objects k h - room w - robot)
  (:init (in w k) (parcel k))
  (:goal (and (parcel h) (in w h))))
"""
