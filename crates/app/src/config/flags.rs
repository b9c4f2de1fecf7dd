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

/// The values of the flags, to be flattened into the arguments of a command; with `STDIO` only those of `panpan mcp`,
/// which serves the process that started it. `Debug` does not show the values.
#[derive(Clone, Default)]
pub(crate) struct Flags<const STDIO: bool = false> {
    /// The configuration file.
    pub(crate) config: Option<PathBuf>,
    /// The values by the name of the flag.
    values: Vec<(&'static str, Vec<String>)>,
}

impl<const STDIO: bool> Flags<STDIO> {
    /// The values of the flags, in the order of the table.
    pub(super) fn assignments(&self) -> Vec<Result<Assignment, Problem>> {
        with_flags()
            .filter_map(|(setting, flag)| self.assignment(setting, flag))
            .map(Ok)
            .collect()
    }

    fn assignment(&self, setting: &'static Setting, flag: &Flag) -> Option<Assignment> {
        let (_, texts) = self.values.iter().find(|(name, _)| *name == flag.name)?;
        let value = match setting.kind {
            Kind::List(..) => RawValue::List(texts.clone()),
            _ => RawValue::Untyped(texts.last()?.clone()),
        };
        let location = Location::Flag(flag.name);
        Some(Assignment {
            setting,
            location,
            value,
        })
    }
}

impl<const STDIO: bool> fmt::Debug for Flags<STDIO> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Flags");
        shown.field("config", &self.config).finish_non_exhaustive()
    }
}

impl<const STDIO: bool> FromArgMatches for Flags<STDIO> {
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

impl<const STDIO: bool> clap::Args for Flags<STDIO> {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new(FILE_FLAG)
            .long(FILE_FLAG)
            .value_name("FILE")
            .help("The file with settings [default: PANPAN_CONFIG, or panpan.toml if it exists]")
            .value_parser(ValueParser::path_buf());
        let included = with_flags().filter(|(setting, _)| setting.for_stdio || !STDIO);
        included.fold(command.arg(file), |command, (setting, flag)| {
            command.arg(argument(setting, flag))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn with_flags() -> impl Iterator<Item = (&'static Setting, &'static Flag)> {
    SETTINGS
        .iter()
        .filter_map(|setting| Some((setting, setting.flag.as_ref()?)))
}

fn argument(setting: &Setting, flag: &'static Flag) -> Arg {
    let heading = match setting.for_stdio {
        true => "Operations and store",
        false => "Server",
    };
    let argument = Arg::new(flag.name)
        .long(flag.name)
        .value_name(flag.value)
        .help(flag.help)
        .help_heading(heading)
        .action(ArgAction::Append);
    match setting.kind {
        // The flag without a value means true.
        Kind::Boolean(_) => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        _ => argument,
    }
}
