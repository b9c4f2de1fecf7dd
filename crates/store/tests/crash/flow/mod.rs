//! Flows whose workers are killed: every task has to end exactly as the rules say.
//!
//! The parent starts one worker on a file, or three on a PostgreSQL database, kills them at random moments while they
//! create and run flows, and reads all rows when no task can run any more. `check` compares them with the simple reading
//! of the rules that `tests/flow/model` has.

mod check;
pub(crate) mod child;
mod parent;
mod plan;
mod read;
#[allow(dead_code, reason = "the model test uses all of it")]
#[path = "../../flow/model/rules.rs"]
mod rules;
mod wakes_later;

use crate::new_database;
use crate::options::Defect;
use parent::FlowCampaign;

/// The number of flows: 5,000 tasks.
const FLOWS: u64 = 50;

/// How often a worker is killed.
const KILLS: u64 = 60;

/// The number of flows, and of kills, with which a planted defect must be detected.
const FLOWS_FOR_DEFECT: u64 = 16;
const KILLS_FOR_DEFECT: u64 = 40;

/// The number of workers on one database.
const WORKERS: u64 = 3;

pub(crate) fn every_task_ends_by_the_rules_although_its_worker_is_killed() {
    FlowCampaign::new("flows", FLOWS, KILLS, Defect::None).check_sound();
}

pub(crate) fn every_task_ends_by_the_rules_although_workers_on_postgres_are_killed() {
    let campaign = FlowCampaign::new("flows-postgres", FLOWS, KILLS, Defect::None);
    campaign.on_database(WORKERS, new_database()).check_sound();
}

pub(crate) fn a_wake_up_in_a_second_transaction_is_detected() {
    let campaign = FlowCampaign::new(
        "flows-wake-later",
        FLOWS_FOR_DEFECT,
        KILLS_FOR_DEFECT,
        Defect::WakesLater,
    );
    // A lost wake-up leaves a task waiting; a late one lets its flow rest too early.
    campaign.check_violation(&["waits for", "rests at"]);
}

pub(crate) fn a_wake_up_in_a_second_transaction_is_detected_on_postgres() {
    let campaign = FlowCampaign::new(
        "flows-wake-later-postgres",
        FLOWS_FOR_DEFECT,
        KILLS_FOR_DEFECT,
        Defect::WakesLater,
    );
    let campaign = campaign.on_database(WORKERS, new_database());
    campaign.check_violation(&["waits for", "rests at"]);
}

pub(crate) fn a_task_that_takes_effect_twice_is_detected() {
    let campaign = FlowCampaign::new(
        "flows-run-twice",
        FLOWS_FOR_DEFECT,
        KILLS_FOR_DEFECT,
        Defect::RunsTwice,
    );
    campaign.check_violation(&["took effect"]);
}
