"""Tests of the contract suite that are not run on RabbitMQ, each with its reason."""

from typing import Final

KEYS: Final = (
    # Idempotency keys are refused by name: a broker does not remember what it has delivered.
    "test_accept::test_one_that_cannot_be_stored_takes_its_whole_batch_with_it",
    "test_accept::test_the_same_key_and_body_give_the_first_id_again",
    "test_accept::test_the_same_key_with_another_body_is_a_conflict",
    "test_accept::test_the_same_key_twice_in_one_batch_is_one_message",
    "test_accept::test_another_queue_and_another_tenant_have_their_own_keys",
    "test_accept::test_a_key_counts_for_a_day_and_not_longer",
    "test_accept::test_a_key_outlives_its_message",
    "test_accept::test_of_senders_that_race_with_one_key_one_is_first",
    "test_finished::test_keys_past_their_day_are_forgotten",
    "test_restart::test_a_keys_first_use_is_remembered_over_a_restart",
    "test_restart::test_everything_stored_is_there_after_a_restart",
)
ORDER: Final = (
    # Ordering is refused by name: a message that is retried is overtaken by those behind it.
    "test_ordered",
    "test_blocks::test_adding_to_a_blocked_queue_never_unblocks_it",
    "test_deadset::test_ordered_ones_go_to_the_end_of_their_order_group_in_order",
    "test_deadset::test_one_that_comes_back_to_an_empty_order_group_is_its_head",
    "test_deadset::test_one_that_comes_back_behind_a_held_head_frees_nobody",
    "test_deadset::test_a_held_head_is_replayed_where_it_is",
    "test_insight::test_of_an_order_group_the_one_before_is_told_and_who_holds_it",
    "test_insight::test_others_are_counted_that_can_go_by_then",
    "test_moves::test_the_dead_keep_all_that_a_replay_needs",
    "test_moves::test_doubt_in_an_order_lets_the_next_one_go",
    "test_reading::test_an_ordered_queue_is_read_by_position_whatever_is_due",
    "test_reading::test_position_is_the_order_of_acceptance_whatever_the_ids_say",
    "test_reading::test_priority_does_not_change_an_order",
    "test_reading::test_each_order_key_has_one_order_group",
    "test_restart::test_a_held_order_group_survives_a_restart",
    "test_restart::test_an_order_goes_on_after_a_restart",
    "test_settle::test_of_an_order_group_it_goes_by_itself",
)
CANCEL: Final = (
    # Cancelling is refused by name: nobody can take one message out of a broker's queue.
    "test_fencing::test_a_try_in_which_its_message_was_cancelled_is_counted",
    "test_fencing::test_a_try_that_did_not_begin_before_its_message_was_cancelled_is_none",
    "test_finished::test_a_cancelled_message_is_forgotten_with_its_tries",
    "test_leases::test_a_wish_to_cancel_outlives_the_owner_that_was_asked",
    "test_leases::test_wishes_to_cancel_outlive_a_restart",
    "test_leases::test_wishes_to_cancel_are_granted_in_slices_before_their_lanes_are_freed",
    "test_leases::test_a_wish_to_cancel_ends_with_the_life_of_its_message",
    "test_insight::test_the_dead_the_cancelled_and_the_uncertain_are_told_apart",
)
AHEAD: Final = (
    # What is not due or may not go lies in the broker, which brings it in time: so no claim, look,
    # release, sweep or ring can say here when that will be. That it comes then, and not before, is
    # shown by the other tests of these files, which move the time.
    "test_bell::test_the_first_work_of_a_level_is_told_with_its_time",
    "test_bell::test_work_for_an_owned_lane_is_told_to_its_owner",
    "test_bell::test_the_ring_of_a_blocked_rung_names_the_end_of_its_block",
    "test_bell::test_a_lane_given_back_is_told_with_its_next_time",
    "test_blocks::test_what_is_due_after_the_block_waits_for_its_own_time",
    "test_blocks::test_unblocking_brings_back_the_first_due_time",
    "test_blocks::test_a_block_reaches_all_lanes_of_its_queue",
    "test_blocks::test_a_lane_with_an_open_circuit_is_not_claimed_before_its_time",
    "test_blocks::test_what_comes_for_a_lane_with_an_open_circuit_has_an_early_probe",
    "test_claim::test_the_last_poller_serves_all_higher_levels",
    "test_claim::test_a_claim_says_when_each_level_is_ready_next",
    "test_leases::test_a_released_lane_is_ready_when_each_of_its_levels_is",
    "test_moves::test_climb_waits_at_the_next_level_until_it_is_due",
    "test_reading::test_a_look_says_when_the_next_rung_is_ready",
    "test_reading::test_what_is_not_due_is_left_out_and_its_time_is_told",
    "test_restart::test_a_queues_block_survives_a_restart",
    "test_restart::test_an_open_circuit_survives_a_restart",
    "test_turns::test_a_claim_that_leaves_a_tenant_out_says_when_the_next_lane_is_ready",
)
LEASES: Final = (
    # A process that dies loses its connection, and the broker counts that for each message: a message is
    # suspect for its own returns and noted starts, not a lane for its owner (see test_crash_loop).
    "test_restart::test_the_lanes_of_a_dead_process_are_free_and_suspect",
    "test_insight::test_a_lane_tells_its_circuit_and_lost_leases",
)
DEATHS: Final = (
    # What has outlived a spell dies as it comes back from the broker, not by a sweep of so many.
    "test_sweep::test_a_spell_kills_no_more_at_once_than_asked",
    # What is tried here does not die meanwhile (`Parking.bury`), so nothing is replayed beside its
    # own try; the rig has no engine that would say what it tries.
    "test_deadset::test_a_replayed_message_does_not_take_what_its_old_try_came_to",
)
COUNTS: Final = (
    # Messages lie in the broker, which does not know tenants.
    # What waits in it is known in memory, and counted to the end.
    "test_overview::test_a_brief_overview_counts_up_to_a_number",
    "test_usage::test_stored_messages_are_counted_by_tenant_in_slices",
)
QUEUES: Final = (
    # What lies in the broker names its queues, and cannot be asked: none is deleted.
    "test_unused",
)
STATEMENTS: Final = (
    # Claims and looks are no statements: they are answered from memory.
    "test_finished::test_statements_are_counted_by_what_they_were_for",
)
LISTS: Final = (
    # Messages that wait are in the broker, which cannot list them: tests/rabbitmq/test_lists.py.
    "test_lists",
)
ATTACHMENTS: Final = (
    # Nobody could tell which messages in the broker need a stored content: refused by name.
    "test_blobs",
)
NOT_ON_RABBITMQ: Final = frozenset(
    KEYS
    + ORDER
    + CANCEL
    + AHEAD
    + LEASES
    + DEATHS
    + COUNTS
    + QUEUES
    + STATEMENTS
    + LISTS
    + ATTACHMENTS
)


def is_left_out(module: str, test: str) -> bool:
    """Whether a test, or its whole file, is on the list."""
    return module in NOT_ON_RABBITMQ or f"{module}::{test}" in NOT_ON_RABBITMQ
