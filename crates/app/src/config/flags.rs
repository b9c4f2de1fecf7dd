//! The flags, generated from the table of settings. Clap does not check the values: it would stop at the first
//! invalid value and print it.

use std::fmt;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use super::assignment::{Assignment, RawValue};
use super::problem::{Location, Problem};
use super::settings::{Flag, Kind, SETTINGS, Setting};

const FILE_FLAG: &str = "config";

/// The values of the flags, to be flattened into the arguments of a command. `Debug` does not show the values.
#[derive(Clone, Default)]
pub(crate) struct Flags {
    /// The configuration file.
    pub(crate) config: Option<PathBuf>,
    /// The values by the name of the flag.
    values: Vec<(&'static str, Vec<String>)>,
}

impl Flags {
    /// The values of the flags, in the order of the table.
    pub(super) fn assignments(&self) -> Vec<Result<Assignment, Problem>> {
        with_flags()
            .filter_map(|(setting, flag)| self.assignment(setting, flag))
            .map(Ok)
            .collect()
    }

    fn assignment(&self, setting: &'static Setting, flag: &Flag) -> Option<Assignment> {
        let (_, texts) = self.values.iter().find(|(name, _)| *name == flag.name)?;
        let value = match (setting.kind, texts.as_slice()) {
            (Kind::List { .. }, texts) => RawValue::UntypedList(texts.to_vec()),
            (_, texts) => RawValue::Untyped(texts.last()?.clone()),
        };
        let location = Location::Flag(flag.name);
        Some(Assignment {
            setting,
            location,
            value,
        })
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
        let values = with_flags().filter_map(|(_, flag)| {
            let texts = matches.try_get_many::<String>(flag.name).ok()??;
            Some((flag.name, texts.cloned().collect()))
        });
        Ok(Self {
            config: matches.get_one::<PathBuf>(FILE_FLAG).cloned(),
            values: values.collect(),
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

/// The flags of `panpan mcp`, which serves only the process that started it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StdioFlags(pub(crate) Flags);

impl FromArgMatches for StdioFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Flags::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl clap::Args for StdioFlags {
    fn augment_args(command: Command) -> Command {
        augmented(command, |setting| setting.for_stdio)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn augmented(command: Command, is_included: fn(&Setting) -> bool) -> Command {
    let file = Arg::new(FILE_FLAG)
        .long(FILE_FLAG)
        .value_name("FILE")
        .help("The file with settings [default: PANPAN_CONFIG, or panpan.toml if it exists]")
        .value_parser(ValueParser::path_buf());
    let included = with_flags().filter(|(setting, _)| is_included(setting));
    included.fold(command.arg(file), |command, (setting, flag)| {
        command.arg(argument(setting, flag))
    })
}

fn with_flags() -> impl Iterator<Item = (&'static Setting, &'static Flag)> {
    SETTINGS
        .iter()
        .filter_map(|setting| Some((setting, setting.flag.as_ref()?)))
}

/// The heading of a flag in the help.
fn heading(setting: &Setting) -> &'static str {
    match setting.for_stdio {
        true => "Operations and store",
        false => "Server",
    }
}

fn argument(setting: &Setting, flag: &'static Flag) -> Arg {
    let argument = Arg::new(flag.name)
        .long(flag.name)
        .value_name(flag.value)
        .help(flag.help)
        .help_heading(heading(setting))
        .action(ArgAction::Append);
    match setting.kind {
        // The flag without a value means true.
        Kind::Boolean { .. } => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        _ => argument,
    }
}
