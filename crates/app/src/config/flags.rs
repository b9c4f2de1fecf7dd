//! The flags, made from the table of keys. Values are read with all others and not by the parser, which
//! would stop at the first it refuses, and repeat it.

use std::fmt;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use super::given::{Given, Raw};
use super::keys::{Flag, KEYS, Key, Kind};
use super::problem::{Place, Problem};

const FILE_FLAG: &str = "config";

/// What was said on the command line; to be flattened into the arguments of a command. Its debug form does
/// not show what was said.
#[derive(Clone, Default)]
pub(crate) struct Flags {
    /// The file, if one was named.
    pub(crate) config: Option<PathBuf>,
    /// What was said, by the name of the flag.
    said: Vec<(&'static str, Vec<String>)>,
}

impl Flags {
    /// What the flags say, in the order of the table.
    pub(super) fn given(&self) -> Vec<Result<Given, Problem>> {
        with_flags()
            .filter_map(|(key, flag)| self.of(key, flag))
            .map(Ok)
            .collect()
    }

    fn of(&self, key: &'static Key, flag: &Flag) -> Option<Given> {
        let (_, texts) = self.said.iter().find(|(name, _)| *name == flag.name)?;
        let raw = match (key.kind, texts.as_slice()) {
            (Kind::List { .. } | Kind::Sources { .. }, texts) => Raw::Several(texts.to_vec()),
            (_, texts) => Raw::Words(texts.last()?.clone()),
        };
        let place = Place::Flag(flag.name);
        Some(Given { key, place, raw })
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Flags");
        shown.field("config", &self.config).finish_non_exhaustive()
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let said = with_flags().filter_map(|(_, flag)| {
            let texts = matches.try_get_many::<String>(flag.name).ok()??;
            Some((flag.name, texts.cloned().collect()))
        });
        Ok(Self {
            config: matches.get_one::<PathBuf>(FILE_FLAG).cloned(),
            said: said.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Flags {
    fn augment_args(command: Command) -> Command {
        augmented(command, |_| true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The flags of a command that serves nobody but the process that started it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PipeFlags(pub(crate) Flags);

impl FromArgMatches for PipeFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Flags::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl clap::Args for PipeFlags {
    fn augment_args(command: Command) -> Command {
        augmented(command, |key| key.of_pipes)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn augmented(command: Command, is_taken: fn(&Key) -> bool) -> Command {
    let file = Arg::new(FILE_FLAG)
        .long(FILE_FLAG)
        .value_name("FILE")
        .help("The file to read settings from [default: panpan.toml, if it is there]")
        .value_parser(ValueParser::path_buf());
    let taken = with_flags().filter(|(key, _)| is_taken(key));
    taken.fold(command.arg(file), |command, (key, flag)| {
        command.arg(argument(key, flag))
    })
}

fn with_flags() -> impl Iterator<Item = (&'static Key, &'static Flag)> {
    KEYS.iter()
        .filter_map(|key| Some((key, key.flag.as_ref()?)))
}

fn argument(key: &Key, flag: &'static Flag) -> Arg {
    let argument = Arg::new(flag.name)
        .long(flag.name)
        .value_name(flag.value)
        .help(flag.help)
        .action(ArgAction::Append);
    match key.kind {
        // The flag alone says yes.
        Kind::Boolean { .. } => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        _ => argument,
    }
}
