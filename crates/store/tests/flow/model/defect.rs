//! Wrong rules, to prove that a difference is noticed.

/// A rule that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// An optional dependency is satisfied only by success.
    OptionalNeedsSuccess,
    /// A required dependency is satisfied by any end.
    RequiredTakesAnyEnd,
    /// Dependents that have ended are never reset.
    NoCascade,
    /// Only direct dependents are reset.
    ShortCascade,
    /// Dependents are reset even if they have not ended.
    CascadeResetsRunning,
    /// Tasks run by turn only.
    NoPriority,
    /// An attempt ends its task although another process has claimed it since.
    NoFencing,
    /// An attempt ends its task although it was cancelled meanwhile.
    CancelLosesRace,
    /// A task that is executed again keeps its generation.
    ResetKeepsGeneration,
    /// A task that an update resets runs at once.
    ResetReleases,
    /// A lease never ends.
    NoTakeover,
    /// Executing a root runs only the root.
    RootRunsAlone,
    /// Changed dependencies are not looked at.
    OldDependenciesCount,
    /// A cycle is closed without a refusal.
    NoCycleCheck,
    /// Flows do not take turns: every task that becomes ready is the next of its flow.
    NoTurns,
    /// A flow without ready tasks begins with the first turn, however many others have had.
    NewFlowsFirst,
    /// A task whose time has come waits like one that has just become ready.
    RetriesWait,
    /// An attempt that follows another one waits twice as long.
    LateRetry,
    /// A task that is taken over does not count that.
    NoRecoveries,
    /// An optional dependency that failed blocks, too.
    OptionalBlocks,
}

impl Defect {
    pub(crate) const ALL: [Defect; 20] = [
        Defect::OptionalNeedsSuccess,
        Defect::RequiredTakesAnyEnd,
        Defect::NoCascade,
        Defect::ShortCascade,
        Defect::CascadeResetsRunning,
        Defect::NoPriority,
        Defect::NoFencing,
        Defect::CancelLosesRace,
        Defect::ResetKeepsGeneration,
        Defect::ResetReleases,
        Defect::NoTakeover,
        Defect::RootRunsAlone,
        Defect::OldDependenciesCount,
        Defect::NoCycleCheck,
        Defect::NoTurns,
        Defect::NewFlowsFirst,
        Defect::RetriesWait,
        Defect::LateRetry,
        Defect::NoRecoveries,
        Defect::OptionalBlocks,
    ];
}
