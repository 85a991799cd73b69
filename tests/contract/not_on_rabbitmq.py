"""Tests of the contract suite that are not about a store on RabbitMQ, each with its reason."""

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
)
AHEAD: Final = (
    # What is not due lies in the broker, which brings it in time: nobody here knows of it before,
    # so no claim or look can say when it will be due. That it is not early is tested elsewhere.
    "test_claim::test_the_last_poller_serves_all_higher_levels",
    "test_claim::test_a_claim_says_when_each_level_is_ready_next",
    "test_moves::test_climb_waits_at_the_next_level_until_it_is_due",
)
ORDER: Final = (
    # Ordering is refused by name.
    "test_moves::test_the_dead_keep_all_that_a_replay_needs",
    "test_moves::test_doubt_in_an_order_lets_the_next_one_go",
)
NOT_ON_RABBITMQ: Final = frozenset(KEYS + AHEAD + ORDER)
