//! Where each promise about balancers is kept: rules O1 to O24, traps seen in other programs, what the first users' engines
//! promised, and the weaknesses they admitted. A test that is renamed or taken away is missed here.

use std::path::Path;

/// The promise, the file below the project, and the test in it.
const KEPT: [(&str, &str, &str); 91] = [
    ("O1 all start together", ROUNDS, "o1_all_start_together_and_the_next_round_follows_the_end_of_the_last"),
    ("O2 time and bytes", LIVE, "o2_an_attempt_counts_body_bytes_on_a_connection_of_its_own"),
    ("O2 empty bodies", LIVE, "o2_an_empty_body_is_a_success_and_reading_stops_at_the_limit"),
    ("O2 redirects", LIVE, "o2_redirects_go_through_the_member_whatever_host_they_name"),
    ("O3 failures", LIVE, "o3_a_status_outside_the_range_a_broken_body_and_a_failed_dial_are_failures"),
    ("O3 limit of an attempt", DRIVER, "o3_the_limit_is_per_attempt_and_attempts_follow_each_other"),
    ("O4 average below three", TALLY, "o4_average_is_the_mean_below_three"),
    ("O4 average from three on", TALLY, "o4_average_drops_extremes_from_three_on"),
    ("O5 weights", OPTIMAL, "o5_weight_decides_between_rates"),
    ("O6 one slow of five", TALLY, "o6_one_slow_attempt_of_five_does_not_count"),
    ("O7 one failed of two", TALLY, "o7_one_failure_of_two_halves_the_score"),
    ("O8 weight 0", OPTIMAL, "o8_weight_zero_serves_only_when_all_others_are_zero"),
    ("O9 until the next round", OPTIMAL, "o9_the_top_score_serves_until_the_next_round_ends"),
    ("O10 equal scores", OPTIMAL, "o10_equal_top_scores_keep_the_serving_member_else_list_order"),
    ("O11 all zero", OPTIMAL, "o11_all_zero_keeps_the_serving_member_and_is_told_once"),
    ("O12 before any result", OPTIMAL, "o12_before_any_result_the_first_of_the_list_serves"),
    ("O12 waiting", OPTIMAL, "o12_waiting_flows_go_with_the_first_success_or_after_their_time"),
    ("O13 the first success", OPTIMAL, "o13_the_first_success_of_the_first_round_serves_until_it_ends"),
    ("O14 one member", OPTIMAL, "o14_a_single_member_serves_and_is_still_scored"),
    ("O15 a new member", OPTIMAL, "o15_a_new_member_is_tested_at_once_alone_and_competes"),
    ("O16 past rules and counters", LIVE, "o16_probes_are_marked_pinned_and_never_routed"),
    ("O17 a dead test target", OPTIMAL, "o17_a_dead_test_target_is_told_from_dead_members"),
    ("O18 lines", OPTIMAL, "o18_lines_show_every_term_and_both_scores"),
    ("O19 retry", REACH, "three_members_are_tried_and_no_more"),
    ("O19 never after a byte", REACH, "what_another_member_would_not_mend_is_not_retried"),
    ("O20 confirmation", GUARDS, "o20_a_refusal_is_enough_and_a_suspect_that_answers_stays"),
    ("O21 ejection", GUARDS, "o21_quarantine_grows_and_light_probes_go_on"),
    ("O22 return", GUARDS, "o22_it_returns_after_quarantine_and_two_signs_of_life_and_is_tested"),
    ("O23 outage of the line", GUARDS, "o23_nobody_answers_nothing_changes"),
    ("O24 the last one", GUARDS, "o24_the_last_one_is_never_ejected"),
    ("trap 1 a single member", BALANCER, "a_single_member_is_always_picked"),
    ("trap 2 an all-failed round", OPTIMAL, "o11_all_zero_keeps_the_serving_member_and_is_told_once"),
    ("trap 3 any status", LIVE, "o3_a_status_outside_the_range_a_broken_body_and_a_failed_dial_are_failures"),
    ("trap 4 one of ten", LIGHTS, "trap_4_in_bursts_one_success_of_ten_is_life_as_xray_has_it"),
    ("trap 5 tolerance 0", "src/balance/least.rs", "slow_and_failing_members_are_left_out"),
    ("trap 6 the first member", "src/balance/standing.rs", "the_margin_keeps_who_serves"),
    ("trap 7 no second pick", REACH, "trap_7_a_failed_dial_goes_to_the_next_member_at_once"),
    (
        "trap 8 one interval a member",
        "src/balance/rhythm/beats.rs",
        "each_member_runs_on_its_own_and_the_first_at_once",
    ),
    ("trap 9 no first probe", "src/balance/rhythm/beats.rs", "trap_9_the_first_probe_does_not_wait_for_an_interval"),
    ("trap 10 seeds of a process", HRW, "scores_are_those_of_the_specification"),
    ("trap 11 positions hashed", HRW, "the_order_of_the_list_plays_no_part"),
    ("trap 12 percentages", TOML, "trap_12_percentages_are_told"),
    ("trap 13 unproxied", REACH, "trap_13_neither_ignorance_nor_failure_leaves_the_group"),
    ("trap 14 a foreign override", BALANCER, "trap_14_a_pin_to_a_dead_member_falls_through_unless_strict"),
    ("trap 15 fallback", BALANCER, "trap_15_a_fallback_works_without_measurements"),
    ("trap 16 bursts", "src/balance/rhythm/beats.rs", "trap_16_first_probes_are_spread_and_later_ones_jittered"),
    ("trap 16 rounds are spread", "src/balance/rounds.rs", "o1_starts_can_be_spread"),
    ("trap 17 a dead page", OPTIMAL, "o17_real_flows_that_work_speak_against_the_test_target_too"),
    ("trap 18 reload", ORDERS, "trap_18_orders_ejections_and_samples_survive"),
    ("trap 19 failures as times", "src/balance/window.rs", "failures_are_counted_and_never_taken_for_times"),
    ("trap 20 old failures", "src/balance/health.rs", "trap_20_a_member_that_returned_is_not_held_to_its_outage"),
    ("trap 21 listed twice", OPTIMAL, "a_member_that_is_listed_twice_is_tested_once_and_a_shared_one_too"),
    ("trap 21 two names", CHOOSE, "trap_21_two_names_for_one_server_are_two_members"),
    ("trap 22 a busy line", OPTIMAL, "trap_22_a_busy_line_lowers_all_scores_and_moves_nobody"),
    ("trap 23 sleep", OPTIMAL, "trap_23_a_round_during_which_the_machine_slept_is_discarded"),
    ("trap 24 counted probes", REACH, "trap_24_a_probe_is_neither_counted_nor_helped"),
    ("trap 24 logged probes", PROBING, "an_observatory_asks_once_whoever_reads_it_and_nobody_logs_it_as_traffic"),
    ("hashing: the formula", HRW, "scores_are_those_of_the_specification"),
    ("hashing: a key stays", STRATEGY, "hrw_keeps_a_key_while_its_member_is_a_candidate"),
    ("hashing: a new member", HRW, "a_new_member_moves_only_the_keys_it_wins"),
    ("hashing: a lost member", HRW, "a_member_that_leaves_moves_only_its_own_keys"),
    ("hashing: fences", HRW, "a_fenced_member_loses_its_own_keys_and_gets_exactly_those_back"),
    ("hashing: weight", "src/model/hrw.rs", "who_has_no_weight_or_stands_twice_is_taken_out_and_told"),
    ("hashing: variables", "src/balance/key/tests.rs", "variables_are_read_off_the_request"),
    ("hashing: nobody is 503", STATUS, "a_fenced_server_takes_nothing_and_nobody_is_an_answer_too"),
    ("hashing: the parent is told", STATUS, "a_service_in_a_service_tells_when_its_last_server_goes"),
    ("failover: keys and defaults", TOML, "the_first_users_example_and_its_defaults"),
    ("failover: messages", TOML, "messages_are_the_contracts_word_for_word"),
    ("failover: check at the start", LIGHTS, "the_seeds_check_begins_at_once_and_turns_are_told_once"),
    ("failover: all down", LIGHTS, "the_seed_says_of_each_that_it_is_down_and_serves_the_first"),
    (
        "failover: words of a change",
        "tests/it/ways.rs",
        "the_seeds_failover_moves_with_the_probes_and_says_so_in_its_words",
    ),
    ("round robin: listed twice", STRATEGY, "a_member_listed_twice_counts_twice_where_turns_are_taken"),
    ("a datagram flow stays", "tests/it/reload.rs", "an_association_keeps_the_ways_that_go_on"),
    ("a test of the file asks nobody", PROBING, "a_check_of_the_configuration_asks_nobody"),
    ("admitted: 35 s to notice", SURVIVAL, "the_serving_member_is_killed_under_200_flows_and_no_new_flow_fails"),
    ("admitted: reachable, not usable", SURVIVAL, "the_serving_member_is_frozen_under_200_flows_and_no_new_flow_fails"),
    ("admitted: no retry", "tests/it/retry.rs", "first_bytes_that_were_read_reach_the_next_member_whole"),
    ("admitted: a slow first address", LIVE, "a_silent_first_address_does_not_fail_the_check"),
    ("admitted: UDP-only members", PROBING, "members_for_datagrams_are_asked_by_datagrams"),
    ("admitted: UDP to TCP-only members", STRATEGY, "datagrams_go_only_to_members_that_carry_them"),
    ("admitted: no nesting", LIGHTS, "a_balancer_that_is_a_member_lives_as_it_says"),
    ("admitted: no nesting, rings", "src/model/rings.rs", "rings_are_refused_with_their_path"),
    ("admitted: reload forgets health", DRIVER, "the_next_prober_knows_what_the_last_one_knew"),
    ("admitted: reload names no balancer", "src/engine/diff/tests.rs", "balancers_are_named_with_what_changed_in_them"),
    ("admitted: no fallback", BALANCER, "all_dead_leaves_the_group_only_by_a_fallback"),
    ("optimal: its shape", XRAY, "the_proposals_own_example_is_read"),
    ("optimal: its defaults", XRAY, "the_defaults_are_those_of_the_proposal"),
    ("optimal: who delivers", "tests/it/balancers.rs", "optimal_serves_by_who_really_delivers"),
    ("asked for: a server that answers", "tests/it/responder.rs", "scores_come_from_the_server_where_the_page_is_dead"),
    ("asked for: steadiness", ADAPTIVE, "the_worked_example_decides_who_serves"),
    ("a failed member says so", ADAPTIVE, "a_member_that_never_worked_is_down_and_says_why"),
];

const ADAPTIVE: &str = "src/balance/keeper/tests/adaptive.rs";
const BALANCER: &str = "src/balance/balancer/tests.rs";
const ROUNDS: &str = "src/balance/rounds.rs";
const CHOOSE: &str = "src/probe/choose/tests.rs";
const DRIVER: &str = "src/probe/driver/tests.rs";
const GUARDS: &str = "src/balance/keeper/tests/guards.rs";
const HRW: &str = "src/balance/hrw/tests.rs";
const LIGHTS: &str = "src/balance/keeper/tests/lights.rs";
const LIVE: &str = "src/probe/live/tests.rs";
const OPTIMAL: &str = "src/balance/keeper/tests/optimal.rs";
const ORDERS: &str = "src/balance/keeper/tests/orders.rs";
const PROBING: &str = "tests/it/probing.rs";
const REACH: &str = "src/engine/reach/tests.rs";
const STATUS: &str = "src/service/status/tests.rs";
const STRATEGY: &str = "src/balance/strategy/tests.rs";
const SURVIVAL: &str = "tests/it/survival.rs";
const TALLY: &str = "src/balance/tally.rs";
const TOML: &str = "src/frontend/toml/balancer/tests.rs";
const XRAY: &str = "src/frontend/xray/balancer/tests.rs";

#[test]
fn every_promise_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let there = |file: &str, test: &str| {
        std::fs::read_to_string(root.join(file)).is_ok_and(|text| text.contains(&format!("fn {test}(")))
    };
    let lost: Vec<_> = KEPT.iter().filter(|(_, file, test)| !there(file, test)).collect();
    assert!(lost.is_empty(), "promises without their test: {lost:#?}");
}
