"""Helping threads leave their caller's processor to it, and run where the process may."""

import os
import sys
import threading

import pytest

from numeric.lowering import blocks, processors

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells and is told")


def in_a_thread(run):
    """What ``run`` gives in a thread of its own, whose processors nobody else minds."""
    found = []
    thread = threading.Thread(target=lambda: found.append(run()))
    thread.start()
    thread.join()
    assert found, "the thread raised"
    return found[0]


@linux
def test_a_thread_keeps_off_one_processor_at_a_time():
    own = os.sched_getaffinity(0)

    def run():
        seen = []
        for processor in (*sorted(own), min(own)):
            processors.keep_off(processor)
            seen.append((processor, os.sched_getaffinity(0)))
        return seen

    for processor, left in in_a_thread(run):
        assert left == (own - {processor} or own)
    assert os.sched_getaffinity(0) == own


@linux
def test_a_thread_that_has_one_processor_stays_there():
    def run():
        (one, *_) = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {one})
        processors.keep_off(one)
        return one, os.sched_getaffinity(0)

    one, left = in_a_thread(run)
    assert left == {one}


@linux
def test_processors_beyond_those_of_the_process_change_nothing():
    own = os.sched_getaffinity(0)

    def run():
        for processor in (processors.NOWHERE, max(own) + 1):
            processors.keep_off(processor)
        return os.sched_getaffinity(0)

    assert in_a_thread(run) == own


@linux
@pytest.mark.parametrize("name", ["sched_getaffinity", "sched_setaffinity"])
def test_a_system_that_refuses_is_left_alone(monkeypatch, name):
    def refuse(*args):
        raise PermissionError("not here")

    monkeypatch.setattr(os, name, refuse)
    assert in_a_thread(lambda: processors.keep_off(0)) is None


@linux
def test_helpers_leave_the_callers_processor_to_it():
    own = os.sched_getaffinity(0)
    if len(own) < 2:
        pytest.skip("there is one processor")

    def by_two():
        both, seen = threading.Barrier(2, timeout=60), {}

        def run(i):
            both.wait()
            seen[threading.get_ident()] = os.sched_getaffinity(0)

        blocks.spread(run, 2, 2)
        return seen

    by_two()  # a helper has the processors of the thread that makes it: this one

    def call():
        at = min(own)
        os.sched_setaffinity(0, {at})  # so that this thread does not move
        seen = by_two()
        mine = seen.pop(threading.get_ident())
        (theirs,) = seen.values()
        return at, mine, theirs

    at, mine, theirs = in_a_thread(call)
    assert mine == {at}, "the caller is not moved"
    assert theirs == own - {at}


def test_where_the_system_says_nothing_threads_run_anywhere(monkeypatch):
    monkeypatch.setattr(processors.sys, "platform", "elsewhere")
    assert processors._found()() == processors.NOWHERE
    processors.keep_off(0)
