"""The parts of an engine, put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.module_loading import import_string

from django_gocron.electors.base import Elector
from django_gocron.engine.audit import Audit
from django_gocron.engine.cancelling import CancelRequests
from django_gocron.engine.capacity import Capacity
from django_gocron.engine.claims import Claims
from django_gocron.engine.completions import Completions
from django_gocron.engine.dispatch import Dispatch
from django_gocron.engine.external_locks import ExternalLocks
from django_gocron.engine.heartbeat import Heartbeat
from django_gocron.engine.leadership import AlwaysLeader, Leadership
from django_gocron.engine.lease import Lease
from django_gocron.engine.local_claims import LocalClaims
from django_gocron.engine.loop import Loop
from django_gocron.engine.memory import Memory
from django_gocron.engine.options import Options
from django_gocron.engine.queue_claims import QueueClaims
from django_gocron.engine.queues import Queues
from django_gocron.engine.recovery import Recovery
from django_gocron.engine.refusals import Refusals
from django_gocron.engine.retention import Retention
from django_gocron.engine.starts import Starts
from django_gocron.engine.sweeping import Sweep
from django_gocron.engine.timeouts import Timeouts
from django_gocron.engine.timers import Timer
from django_gocron.engine.vigil import Vigil
from django_gocron.engine.wakeup import Wakeup

if TYPE_CHECKING:
    from django_gocron.clock import Clock
    from django_gocron.executors.base import Executor

EXECUTOR = "django_gocron.executors.threads.ThreadExecutor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One instance's engine, without its threads: each part says from which thread it may be called."""

    using: str
    clock: Clock
    memory: Memory
    capacity: Capacity
    lease: Lease
    locks: ExternalLocks
    leadership: Leadership | AlwaysLeader
    heartbeat: Heartbeat
    completions: Completions
    executor: Executor
    sweep: Sweep
    loop: Loop
    recovery: Recovery
    cancel_requests: CancelRequests
    timeouts: Timeouts
    timer: Timer
    vigil: Vigil
    wakeup: Wakeup


def assemble(options: Options, clock: Clock, executor: Executor | None = None) -> Parts:
    """Make the parts and acquaint them with each other; nothing runs yet. ``executor`` is by default the one of
    threads."""
    using, memory, wakeup = options.using, Memory(), Wakeup()
    lease = Lease(
        using,
        clock,
        duration=options.lease,
        name=options.name,
        labels=options.labels,
        workers=options.workers,
    )
    vigil = Vigil(options.lease)
    heartbeat = Heartbeat(using, clock, lease, memory, vigil, every=options.heartbeat)
    leadership = _make_leadership(options, clock, lease, wakeup)
    locks = ExternalLocks(using, options.lockers, clock, memory, lease)
    completions = Completions(using, clock, memory, locks)
    executor = executor or _make_executor(options, clock)
    capacity = Capacity(memory, slots=options.slots, ahead=options.ahead, drops=options.drops_beyond_limit)
    timeouts = Timeouts(clock, memory, completions)
    dispatch = Dispatch(
        using, executor, timeouts, completions, capacity, memory, lease, clock, options.listeners
    )
    locks.on_refused = dispatch.tell_lock_refused
    sweep, recovery = Sweep(using, clock), Recovery(using, clock, lambda: heartbeat.may_reap)
    cancel_requests = CancelRequests(using, clock, memory, every=options.poll)
    queues = Queues(using, clock, memory, wakeup.wake)
    refusals = Refusals(using, clock, memory, recovery, queues, locks)
    loop = Loop(
        clock=clock,
        memory=memory,
        capacity=capacity,
        claims=Claims(using, lease, ahead=options.ahead),
        local_claims=LocalClaims(using, lease, ahead=options.ahead),
        queue=QueueClaims(using, lease, ahead=options.ahead),
        sweep=sweep,
        recovery=recovery,
        audit=Audit(using, clock, lease, memory, every=options.heartbeat),
        retention=Retention(using, clock),
        cancel_requests=cancel_requests,
        heartbeat=heartbeat,
        leadership=leadership,
        wakeup=wakeup,
        ahead=options.ahead,
        poll=options.poll,
    )
    timer = Timer(
        clock,
        memory,
        Starts(using, clock, lease, memory, locks, refusals),
        timeouts,
        capacity,
        dispatch.execute,
        slots=options.slots,
        drops=options.drops_beyond_limit,
    )
    return Parts(
        using=using,
        clock=clock,
        memory=memory,
        capacity=capacity,
        lease=lease,
        locks=locks,
        leadership=leadership,
        heartbeat=heartbeat,
        completions=completions,
        executor=executor,
        sweep=sweep,
        loop=loop,
        recovery=recovery,
        cancel_requests=cancel_requests,
        timeouts=timeouts,
        timer=timer,
        vigil=vigil,
        wakeup=wakeup,
    )


def _make_executor(options: Options, clock: Clock) -> Executor:
    made: Executor = import_string(EXECUTOR)(clock, workers=options.workers)
    return made


def _make_leadership(
    options: Options, clock: Clock, lease: Lease, wakeup: Wakeup
) -> Leadership | AlwaysLeader:
    """Raises ``ConfigurationError`` (``bad_backend``) for an elector that cannot be made."""
    if options.elector is None:
        return AlwaysLeader()
    elector = options.elector.make(Elector)  # type: ignore[type-abstract]
    return Leadership(options.using, clock, lease, elector, on_gain=wakeup.wake)
