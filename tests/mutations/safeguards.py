"""The safeguards of acts, each with the way to take it out and the tests that then have to fail."""

from __future__ import annotations

from tests.mutations.layer_safeguards import LAYER_SAFEGUARDS
from tests.mutations.safeguard import Safeguard

REFUSALS = "tests/broker/test_commands_refusals.py"
LEFT_ALONE = f"{REFUSALS}::test_what_changed_since_it_was_seen_is_left_as_it_is"
OWN_STATES = f"{REFUSALS}::test_an_act_is_for_jobs_of_its_own_states_alone"
FULL = "tests/broker/test_commands_full_store.py::test_a_full_store_refuses_and_loses_nothing"
ACTS = "tests/actions/test_acts_on_jobs.py"
RIGHTS = "tests/test_permissions.py"
HIDDEN = "tests/cases/test_p13_invisible_queues.py"
LEDGER = "tests/ledger/test_audit_entries.py"
TROUBLE = "tests/faults/test_store_in_trouble.py"
REVIEWS = "tests/ledger/test_reviews.py"
UNHEARD = f"{REVIEWS}::test_a_word_without_its_turn_is_neither_heard_nor_recorded"
SAID = "tests/actions/test_reviews.py"
NO_LIE = f"{TROUBLE}::test_it_is_done_or_it_never_will_be_and_the_person_is_told_no_lie"


SAFEGUARDS = {
    # In the scripts.
    "what was seen": Safeguard(
        place="guard.lua",
        old="seen_token() ~= SEEN or not is_listed_as(status)",
        new="not is_listed_as(status)",
        tests=(
            f"{LEFT_ALONE}[requeue-failed-with a newer result-3.0]",
            f"{LEFT_ALONE}[cancel-queued-queued or begun another time-3.0]",
        ),
    ),
    "the deadline": Safeguard(
        place="guard.lua",
        old="if server_seconds() > tonumber(DEADLINE) then return 'too_late' end",
        tests=(
            f"{REFUSALS}::test_after_the_deadline_nothing_is_done",
            f"{NO_LIE}[retry_job-3.0-it stands still and goes on after the deadline]",
        ),
    ),
    "the status": Safeguard(
        place="guard.lua",
        old="if statuses and not statuses[status] then return 'changed' end",
        tests=(f"{OWN_STATES}[requeue-scheduled-3.0]", f"{OWN_STATES}[cancel-failed-3.0]"),
    ),
    "the place in the registry": Safeguard(
        place="guard.lua",
        old="seen_token() ~= SEEN or not is_listed_as(status)",
        new="seen_token() ~= SEEN",
        tests=(f"{LEFT_ALONE}[requeue-failed-taken out of its registry-3.0]",),
    ),
    "the live lease": Safeguard(
        place="guard.lua",
        old="    if is_running() then return 'running' end\n    if is_taken()",
        new="    if is_taken()",
        tests=(f"{LEFT_ALONE}[requeue-failed-running-3.0]", f"{LEFT_ALONE}[delete-failed-running-3.0]"),
    ),
    "the worker's hand": Safeguard(
        place="guard.lua",
        old="if is_taken() then return 'taken' end",
        tests=(f"{LEFT_ALONE}[delete-queued-in a worker's hand-3.0]",),
    ),
    "the types of keys": Safeguard(
        place="guard.lua",
        old="if is_damaged() then return 'damaged' end",
        tests=(f"{LEFT_ALONE}[requeue-failed-damaged at rq:queue:orders-3.0]",),
    ),
    "the rights of the account": Safeguard(
        place="guard.lua",
        old="if not may_do_all() then return 'refused' end",
        tests=(f"{TROUBLE}::test_an_account_that_lacks_one_command_does_nothing_by_halves[retry_job-3.0]",),
    ),
    "the mark": Safeguard(
        place="guard.lua",
        old="redis.call('SET', MARK, outcome, 'EX', MARK_SECONDS)",
        tests=(
            f"{ACTS}::test_a_repeatable_job_is_put_back_and_the_act_is_on_record",
            f"{NO_LIE}[retry_job-3.0-the answer never arrives]",
        ),
    ),
    "the look at the mark": Safeguard(
        place="guard.lua",
        old="if redis.call('EXISTS', MARK) == 1 then return 'already_done' end",
        tests=(f"{REFUSALS}::test_the_same_act_sent_again_does_nothing_more",),
    ),
    "a retry's first write": Safeguard(
        place="requeue_failed.lua",
        old="leave_mark('requeued')",
        new="redis.call('ZREM', FAILED, ID) leave_mark('requeued')",
        tests=(f"{FULL}[requeue-failed-3.0]", f"{NO_LIE}[retry_job-3.0-its memory is full]"),
    ),
    "a cancel's first write": Safeguard(
        place="cancel_job.lua",
        old="leave_mark('canceled')",
        new="redis.call('LREM', QUEUE, 0, ID) leave_mark('canceled')",
        tests=(f"{FULL}[cancel-queued-3.0]", f"{NO_LIE}[cancel_job-3.0-its memory is full]"),
    ),
    "an enqueue's first write": Safeguard(
        place="enqueue_now.lua",
        old="leave_mark('enqueued')",
        new="redis.call('ZREM', SCHEDULED, ID) leave_mark('enqueued')",
        tests=(f"{FULL}[enqueue-scheduled-3.0]", f"{NO_LIE}[enqueue_job-3.0-its memory is full]"),
    ),
    # On the way to them.
    "the right, asked for": Safeguard(
        place="jobs.actions.guarded.carry_out",
        old="    _require_right(act, wish)\n",
        tests=(
            f"{ACTS}::test_without_the_right_nothing_is_done_and_the_attempt_is_on_record",
            f"{ACTS}::test_a_queue_one_may_not_see_does_not_exist",
        ),
    ),
    "the right, answered": Safeguard(
        place="jobs.permissions.require",
        old="if permission not in held:",
        new="if False:",
        tests=(
            f"{RIGHTS}::test_who_lacks_the_right_reads_which_one",
            f"{ACTS}::test_without_the_right_nothing_is_done_and_the_attempt_is_on_record",
        ),
    ),
    "no act on what one may not see": Safeguard(
        place="jobs.permissions.require",
        old="if Permission.VIEW_QUEUE not in held:",
        new="if False:",
        tests=(f"{ACTS}::test_a_queue_one_may_not_see_does_not_exist",),
    ),
    "no queue that one may not see": Safeguard(
        place="jobs.permissions.find_queue",
        old="if Permission.VIEW_QUEUE not in permissions_on(user, queue):",
        new="if False:",
        tests=(
            f"{RIGHTS}::test_hidden_and_unknown_queues_give_the_same_answer",
            f"{HIDDEN}::test_p13_a_hidden_job_and_none_give_the_same_answer[viewer]",
        ),
    ),
    "no right without sight": Safeguard(
        place="jobs.permissions._usable",
        old="return held if Permission.VIEW_QUEUE in held else frozenset()",
        new="return held",
        tests=(f"{RIGHTS}::test_to_act_without_the_right_to_see_is_no_right",),
    ),
    "lists of what one sees": Safeguard(
        place="jobs.permissions.visibility",
        old="return Visibility(everything=False, queues=tuple(granted.",
        new="return Visibility(everything=True, queues=tuple(granted.",
        tests=(f"{HIDDEN}::test_p13_totals_count_only_what_one_sees",),
    ),
    "the decision": Safeguard(
        place="jobs.actions.guarded.carry_out",
        old=(
            "if decision.wants_review:\n"
            "        return _send_to_review(act, wish, detail, case, decision)\n"
            "    if not decision.allows_act:"
        ),
        new="if False:",
        tests=(f"{ACTS}::test_any_other_promise_is_refused_on_record_and_nothing_moves",),
    ),
    "the confirmation": Safeguard(
        place="jobs.actions.guarded.carry_out",
        old="if decision.asks and not _is_confirmed(act, wish, detail, decision):",
        new="if False:",
        tests=(f"{ACTS}::test_a_delete_that_was_not_confirmed_word_for_word_is_refused_on_record",),
    ),
    "the intent before the script": Safeguard(
        place="jobs.ledger.audit.open_entry_within",
        old="return _create(actor=actor,",
        new="return AuditEntry(actor=actor, actor_name=actor.get_username(),",
        tests=(f"{ACTS}::test_the_intent_is_committed_before_the_script_runs",),
    ),
    "the intent, whatever is undone": Safeguard(
        place="jobs.ledger.open_entry",
        old="atomic(durable=True)",
        new="atomic()",
        tests=(f"{LEDGER}::test_an_intent_inside_a_transaction_is_an_error",),
    ),
    "an entry is closed once": Safeguard(
        place="jobs.ledger.audit.close_once",
        old=", status=AuditEntry.Status.INTENDED)",
        new=")",
        tests=(f"{LEDGER}::test_an_entry_is_closed_once",),
    ),
    # In reviews.
    "the version of a review": Safeguard(
        place="jobs.ledger.reviews._take_turn",
        old=", version=statement.version_seen)",
        new=")",
        tests=(f"{UNHEARD}[the version]",),
    ),
    "the holder of a review": Safeguard(
        place="jobs.ledger.reviews._take_turn",
        old="turn = turn.filter(claimed_by=statement.actor, claimed_until__gt=now)",
        new="pass",
        tests=(f"{UNHEARD}[the turn]", f"{UNHEARD}[the time]"),
    ),
    "one word at a time": Safeguard(
        place="jobs.ledger.reviews._take_turn",
        old='turn = turn.filter(~Exists(Resolution.objects.filter(_UNDER_WAY, review=OuterRef("pk"))))',
        new="pass",
        tests=(f"{REVIEWS}::test_while_an_act_is_under_way_nothing_else_is_said[happened]",),
    ),
    "what was said stays said": Safeguard(
        place="jobs.ledger.reviews._follow",
        old="(pk=review.pk, closed_at=None)",
        new="(pk=review.pk)",
        tests=(f"{REVIEWS}::test_against_what_somebody_said_it_stands_beside_it_and_overwrites_nothing[True]",),
    ),
    "the end of the old run": Safeguard(
        place="jobs.domain.decisions.unless_it_may_still_run",
        old="or case.judgement.is_dead:",
        new="or True:",
        tests=(f"{SAID}::test_while_the_old_run_may_act_it_can_not_be_said[False-3.0]",),
    ),
    "the open review": Safeguard(
        place="jobs.domain.decisions.objection_by_standing",
        old="if standing.has_open_review:",
        new="if False:",
        tests=(f"{SAID}::test_while_it_is_in_review_it_is_neither_run_nor_deleted[repeatable-3.0]",),
    ),
    # In the store's silence.
    "silence is no refusal": Safeguard(
        place="jobs.broker.commands._run",
        old="raise OutcomeUnknown from None",
        new='return "refused"',
        tests=(f"{NO_LIE}[delete_job-3.0-the line is cut before the answer]",),
    ),
    "nothing is sent twice": Safeguard(
        place="jobs.broker.connections._client",
        old="1 if acting else 2",
        new="2",
        tests=(f"{NO_LIE}[retry_job-3.0-the line is cut before the answer]",),
    ),
    **LAYER_SAFEGUARDS,
}
