//! The items inside `#[failure(…)]`, split at commas so that one malformed item does not hide the others.
//!
//! Knows names, equals signs and duplicates. `attr` knows the meaning of an item, `value` parses its value.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Meta, Token};

use crate::problems::{Problems, choice};

/// A parsed item.
pub(crate) struct Parsed<T> {
    /// The name as written.
    pub(crate) name: Ident,
    /// The tokens to point at: the value, or the name where there is none.
    pub(crate) tokens: TokenStream,
    /// The value; `None` if it could not be parsed, which is reported already.
    pub(crate) value: Option<T>,
}

/// One `name` or `name = value`.
pub(crate) struct Item {
    name: Ident,
    value: Option<TokenStream>,
}

/// The items of one enum, variant or field.
#[derive(Default)]
pub(crate) struct Items {
    items: Vec<Item>,
    names: Vec<&'static str>,
    taken: Vec<Ident>,
    /// Whether some tokens are not an item.
    pub(crate) malformed: bool,
}

impl Items {
    /// All items of all `#[failure(…)]` attributes.
    pub(crate) fn of(attributes: &[Attribute], problems: &mut Problems) -> Self {
        let ours = attributes.iter().filter(|it| it.path().is_ident("failure"));
        let mut found = Self::default();
        for attribute in ours {
            match &attribute.meta {
                Meta::List(list) => found.read(list.tokens.clone(), problems),
                other => {
                    let message = "the items go in parentheses; write `#[failure(code = \"…\")]`";
                    problems.add(other, message);
                    found.malformed = true;
                }
            }
        }
        found
    }

    fn read(&mut self, tokens: TokenStream, problems: &mut Problems) {
        for segment in segments(tokens) {
            match problems.keep(syn::parse2(segment)) {
                Some(item) => self.items.push(item),
                None => self.malformed = true,
            }
        }
    }

    /// Takes the item with one of several names. A duplicate is a problem.
    pub(crate) fn take<T>(
        &mut self,
        names: &[&'static str],
        problems: &mut Problems,
        read: impl Fn(&Item) -> syn::Result<T>,
    ) -> Option<Parsed<T>> {
        self.names.extend(names);
        let mut mine = self
            .items
            .extract_if(.., |item| names.iter().any(|name| item.name == name));
        let item = mine.next()?;
        for again in mine {
            let message = format!("duplicate `{}`; remove one of them", again.name.unraw());
            problems.add(&again.name, message);
        }
        let value = problems.keep(read(&item));
        self.taken.push(item.name.clone());
        Some(item.into_parsed(value))
    }

    /// All names that were asked for.
    pub(crate) fn names(self) -> Vec<&'static str> {
        self.names
    }

    /// Refuses the remaining items. `elsewhere` lists the items of other targets.
    /// Returns the names that were taken, as written.
    pub(crate) fn finish(
        self,
        elsewhere: &[(Vec<&'static str>, &str)],
        problems: &mut Problems,
    ) -> Vec<Ident> {
        for item in &self.items {
            let name = item.name.unraw().to_string();
            let target = elsewhere
                .iter()
                .find(|(names, _)| names.contains(&name.as_str()));
            let message = match target {
                Some((_, target)) => format!("`{name}` belongs on {target}; move it there"),
                None => format!("unknown attribute `{name}`; {}", choice(&name, &self.names)),
            };
            problems.add(&item.name, message);
        }
        self.taken
    }
}

impl Item {
    /// The name as text.
    pub(crate) fn name(&self) -> String {
        self.name.unraw().to_string()
    }

    /// The tokens after the equals sign.
    pub(crate) fn value(&self) -> Option<&TokenStream> {
        self.value.as_ref()
    }

    /// An error at the value, or at the name if there is no value.
    pub(crate) fn error(&self, message: impl std::fmt::Display) -> syn::Error {
        syn::Error::new_spanned(self.tokens(), message)
    }

    fn tokens(&self) -> TokenStream {
        self.value
            .clone()
            .unwrap_or_else(|| self.name.to_token_stream())
    }

    fn into_parsed<T>(self, value: Option<T>) -> Parsed<T> {
        Parsed {
            tokens: self.tokens(),
            name: self.name,
            value,
        }
    }
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input
            .call(Ident::parse_any)
            .map_err(|error| syn::Error::new(error.span(), "expected `name = value`"))?;
        if input.is_empty() {
            return Ok(Self { name, value: None });
        }
        let shape = format!("write `{} = …`", name.unraw());
        if !input.peek(Token![=]) {
            return Err(input.error(shape));
        }
        input.parse::<Token![=]>()?;
        if input.is_empty() {
            return Err(syn::Error::new(name.span(), shape));
        }
        let value = Some(input.parse()?);
        Ok(Self { name, value })
    }
}

/// The tokens between commas. A comma inside brackets or parentheses is inside one token.
fn segments(tokens: TokenStream) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(it) if it.as_char() == ',');
    tokens
        .split(is_comma)
        .filter(|segment| !segment.is_empty())
        .map(|segment| segment.iter().cloned().collect())
        .collect()
}
