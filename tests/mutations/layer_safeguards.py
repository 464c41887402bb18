"""The safeguards of the job-safety layer, each with the way to take it out and the tests that then have to fail."""

from __future__ import annotations

from tests.mutations.safeguard import Safeguard

ATTEMPTS = "tests/ledger/test_op_attempts.py"
BOUNDS = "tests/ledger/test_op_bounds.py"
EFFECTS = "tests/ledger/test_op_effects.py"
DIES = f"{EFFECTS}::test_an_attempt_that_dies_in_its_call_leaves_what_its_class_makes_of_that"
FENCES = "tests/ledger/test_op_fences.py"
LATE = "tests/ledger/test_op_late_evidence.py"
MISUSE = "tests/safety/test_misuse.py"
VERDICTS = "tests/domain/test_layered.py"
RULES = "tests/domain/test_operation_rules.py"
UNSEEN = "tests/ledger/test_unseen_runs.py"
ONE_OF_TWO = "tests/observer/test_operations.py::test_of_two_observers_at_once_one_queues_it"

LAYER_SAFEGUARDS = {
    "the intent before the call": Safeguard(
        place="jobs.ledger.effects._create",
        old="return Effect.objects.create(",
        new="return Effect(",
        tests=(
            f"{DIES}[unsafe-unsafe_begun-unknown]",
            f"{MISUSE}::test_a_job_that_hides_what_went_wrong_in_its_effect_is_not_completed",
        ),
    ),
    "the intent, whatever is undone": Safeguard(
        place="jobs.ledger.database.own_transaction",
        old="durable=True",
        new="durable=False",
        tests=(f"{MISUSE}::test_an_effect_inside_a_transaction_that_could_take_its_record_back_is_never_called",),
    ),
    "the fence before an effect": Safeguard(
        place="jobs.ledger.effects._held",
        old="current_attempt=attempt.pk, ",
        tests=(f"{FENCES}::test_nothing_is_begun_by_an_attempt_that_another_has_followed",),
    ),
    "the lease before an effect": Safeguard(
        place="jobs.ledger.effects._held",
        old=", lease_until__gt=until",
        tests=(
            f"{EFFECTS}::test_nothing_is_begun_with_less_time_left_than_its_call_may_take[10-False]",
            f"{EFFECTS}::test_nothing_is_begun_with_less_time_left_than_its_call_may_take[0-False]",
        ),
    ),
    "the fence before the end": Safeguard(
        place="jobs.ledger.attempts._held",
        old=", current_attempt=attempt.pk",
        tests=(f"{ATTEMPTS}::test_an_attempt_that_was_taken_over_completes_nothing",),
    ),
    "one attempt at a time": Safeguard(
        place="jobs.domain.operation_rules._r7_in_progress",
        old="if attempt is None or not attempt.is_live(question.now):",
        new="if True:",
        tests=(f"{ATTEMPTS}::test_a_second_delivery_meets_the_live_attempt_and_is_dropped",),
    ),
    "the wait for death, to take over": Safeguard(
        place="jobs.ledger.attempts.take_over",
        old="if proof == LEASE_OVER:",
        new="if False:",
        tests=(f"{ATTEMPTS}::test_nobody_takes_over_what_was_not_as_it_was_seen",),
    ),
    "the wait for death, to ask": Safeguard(
        place="jobs.domain.effect_rules._r12_too_early",
        old="if not effect.may_still_act and not settled_at:",
        new="if True:",
        tests=(f"{RULES}::test_the_other_side_is_asked_when_the_attempt_is_dead_and_the_answer_has_settled",),
    ),
    "the wait for death, to deny": Safeguard(
        place="jobs.domain.effect_verdicts.decide_effect_verdict",
        old="if verdict in MAY_CALL_AGAIN and (asked.acts_until or asked.settles_at):",
        new="if False:",
        tests=(f"{VERDICTS}::test_while_its_attempt_may_act_or_the_answer_may_change_nothing_is_done_again",),
    ),
    "whose process it is": Safeguard(
        place="jobs.safety.processes.is_gone",
        old="if (identity.boot_id, identity.pid_namespace) != (here.boot_id, here.pid_namespace):",
        new="if False:",
        tests=(
            "tests/safety/test_processes.py::test_a_process_of_another_boot_or_namespace_is_not_proved_gone[boot_id]",
        ),
    ),
    "the key that outlives its call": Safeguard(
        place="jobs.domain.effect_rules.is_key_alive",
        old="now + call_timeout < effect.key_valid_until",
        new="True",
        tests=(
            f"{EFFECTS}::test_a_key_must_outlive_the_call_that_this_effect_may_take[60-False]",
            f"{RULES}::test_a_key_is_alive_only_if_a_call_that_begins_now_ends_before_it_is_forgotten",
        ),
    ),
    "facts that come late": Safeguard(
        place="jobs.ledger.effects.complete",
        old="take_late_evidence(effect, attempt, external_id=external_id, result=result, now=now)",
        new="pass",
        tests=(f"{LATE}::test_late_news_closes_the_open_review_and_the_job_goes_on",),
    ),
    "a look at what is left open": Safeguard(
        place="jobs.safety.running._require_finished",
        old="if left is not None:",
        new="if False:",
        tests=(f"{MISUSE}::test_a_job_that_hides_what_went_wrong_in_its_effect_is_not_completed",),
    ),
    "what the observer has seen": Safeguard(
        place="jobs.ledger.rescues._restated",
        old=", status=seen.status, version=seen.version",
        tests=(ONE_OF_TWO,),
    ),
    "no call after the last attempt": Safeguard(
        place="jobs.ledger.effects._require_attempts_left",
        old="if decision.action is Action.FAIL:",
        new="if False:",
        tests=(f"{BOUNDS}::test_a_call_that_kills_its_process_is_made_as_often_as_that_is_allowed",),
    ),
    "the end of what ran unseen": Safeguard(
        place="jobs.ledger.consequences.follow_resolution",
        old="if verdict is Verdict.HAPPENED and review.effect is None:",
        new="if False:",
        tests=(f"{UNSEEN}::test_only_what_did_not_happen_is_run_again[happened-completed-False]",),
    ),
}
