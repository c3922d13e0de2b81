"""A model of how instances share ticks, and an explorer that takes every way through it.

The model is small: one job that may not overlap and runs at most once, one to two ticks, two instances, time in whole
units. What is small is explored to the end: each order in which writes are sent, executed and answered, and each
moment at which a fault may strike, as often as a budget allows.

What is modelled:

* Each write is sent, executed by the database in one step, and answered. An answer may get lost: then the sender does
  not know whether the database has executed the write, will yet, or never. What a killed or a disconnected sender has
  sent stays ``wild`` and may be executed at any later moment.
* Claims (of ticks and of the queue), starts, refusals, finishes, renewals, the reaping of others, the audit, late
  runs and stops that give back, the last transaction of a stop. One write a thread: loop, timer, writer, heart.
* Faults: kill, freeze and thaw, a slow heartbeat, a lost connection, an outage of the database, a clock set back. What
  people do: edit, pause, stop, and retention.
* ``open_claims``: the claim's look at the lease and its commit are two steps, under the lock of the state row.
  ``open_begins``: the last look before user code and its first line are two steps.

A calm instance renews as time passes; renewals are writes of their own where a fault has disturbed them. Answers to a
process that runs are heard when they are given, and a write for which nothing has to be waited for is sent at once:
nothing can tell the difference. Of two states that are mirror images one is explored.

What is not: retries, runs by hand, queues and ``allow`` as overlap, several jobs, misfire policies, limits, electors,
lockers, external executors, runs of every instance, time-outs; isolation levels and deadlocks; a database that
forgets commits. A dead instance does not come back; a new process would be another instance.

The properties:

* ``once``: user code of a tick begins at most once, whatever is killed, frozen or lost.
* ``owned``: at the last look before it, the run's row is running, and the instance's own.
* ``overlap``: no two runs execute whose rows say running. A run that was declared lost may still execute in a process
  that was frozen, beside the next one: it has begun while its lease was good, and its result is refused. Where a
  process is frozen in the moment between the last look and user code, it may even begin after it was declared lost;
  it is begun once all the same.
* ``one row``: a tick has one row.
* ``settled``: from every state in which an instance is up, or frozen, a state can be reached without further faults in
  which each tick has its row and each row has ended, except ticks that were not planned before an edit or a pause.
* ``overwritten``: a result does not replace ``lost``.
* ``lock``: a row that has ended holds no lock.
* ``lost without need``: a run is lost only if it was started under a good lease, and some instance was killed, frozen,
  slow or stopped; not for an outage.
* ``skipped for the dead``: a tick is not skipped for the lock of an instance whose lease is over.
* ``paused``: no run of a paused job starts.

``Clauses`` lists the rules that make it so. Each can be left out, and a test shows what falls then. Whoever changes
how instances share ticks changes the model first: a new rule is a new clause with such a test.

The large cases take minutes and some gigabytes, so they are skipped unless asked for::

    GOCRON_TEST_NIGHTLY=1 python -m pytest tests/model -k large -s

A violation is told as a shortest trace, a line a step: who did what, and after the bar the world it leaves. ``A`` and
``B`` are the instances, ``A0`` and ``A1`` the identities A has had; a lease is what is left of it, -1 when reaped, -2
when stopped; ``claimed A0#2`` is a row's status, its owner, and how often it has been claimed. For ``settled`` the
trace leads to the first state from which there is no way out.
"""
