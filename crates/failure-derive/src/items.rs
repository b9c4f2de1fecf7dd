//! The items inside `#[failure(…)]`, cut at their commas so that one bad item hides no other.
//!
//! Knows names, equals signs and duplicates. What an item means is in `attr`, what its value may be
//! in `value`.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Meta, Token};

use crate::problems::{Problems, choice};

/// What was said under one name.
pub(crate) struct Said<T> {
    /// The name as written.
    pub(crate) name: Ident,
    /// The tokens to point at: the value, or the name where there is none.
    pub(crate) tokens: TokenStream,
    /// The value; `None` when it could not be read, which is noted already.
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
    /// Whether something was written that is no item; what it meant to say is unknown.
    pub(crate) garbled: bool,
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
                    let message = "the attribute holds its items in parentheses; write \
                                   `#[failure(code = \"…\")]`";
                    problems.add(other, message);
                    found.garbled = true;
                }
            }
        }
        found
    }

    fn read(&mut self, tokens: TokenStream, problems: &mut Problems) {
        for segment in segments(tokens) {
            match problems.keep(syn::parse2(segment)) {
                Some(item) => self.items.push(item),
                None => self.garbled = true,
            }
        }
    }

    /// Takes what is said under one of several spellings of a name. Saying it twice is a problem.
    pub(crate) fn take<T>(
        &mut self,
        names: &[&'static str],
        problems: &mut Problems,
        read: impl Fn(&Item) -> syn::Result<T>,
    ) -> Option<Said<T>> {
        self.names.extend(names);
        let mut mine = self
            .items
            .extract_if(.., |item| names.iter().any(|name| item.name == name));
        let item = mine.next()?;
        for again in mine {
            let message = format!(
                "`{}` is said twice; keep one of the two",
                again.name.unraw()
            );
            problems.add(&again.name, message);
        }
        let value = problems.keep(read(&item));
        Some(item.said(value))
    }

    /// Every name asked for so far.
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Refuses what nobody asked for. `elsewhere` names the items that belong on something else.
    pub(crate) fn finish(self, elsewhere: &[(Vec<&'static str>, &str)], problems: &mut Problems) {
        for item in &self.items {
            let name = item.name.unraw().to_string();
            let home = elsewhere
                .iter()
                .find(|(names, _)| names.contains(&name.as_str()));
            let message = match home {
                Some((_, place)) => format!("`{name}` belongs on {place}; move it there"),
                None => format!("unknown attribute `{name}`; {}", choice(&name, &self.names)),
            };
            problems.add(&item.name, message);
        }
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

    /// A complaint about the value, or about the name where there is no value.
    pub(crate) fn complain(&self, message: impl std::fmt::Display) -> syn::Error {
        syn::Error::new_spanned(self.tokens(), message)
    }

    fn tokens(&self) -> TokenStream {
        self.value
            .clone()
            .unwrap_or_else(|| self.name.to_token_stream())
    }

    fn said<T>(self, value: Option<T>) -> Said<T> {
        Said {
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
