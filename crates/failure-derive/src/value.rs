//! Parses the values of items: texts, words, numbers, flags and lists.
//!
//! Accepts every unambiguous spelling and explains any other.

use std::str::FromStr;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Lit, LitBool, LitInt, LitStr, Path, Token};

use crate::items::Item;
use crate::problems::choice;

/// A word and its tokens.
pub(crate) struct Word {
    pub(crate) text: String,
    tokens: TokenStream,
}

/// A vocabulary of the catalogue.
pub(crate) struct Vocabulary<T: 'static> {
    /// The noun for one of its words.
    pub(crate) noun: &'static str,
    /// Every value.
    pub(crate) all: &'static [T],
    /// The word of a value.
    pub(crate) word: fn(T) -> &'static str,
}

impl<T: Copy> Vocabulary<T> {
    /// The value of an item.
    pub(crate) fn read(&self, item: &Item) -> syn::Result<T> {
        let sample = self.all.first().map(|it| (self.word)(*it));
        self.find(&word(item, sample.unwrap_or_default())?)
    }

    /// The value of a word.
    pub(crate) fn find(&self, word: &Word) -> syn::Result<T> {
        let found = self.all.iter().find(|it| (self.word)(**it) == word.text);
        found.copied().ok_or_else(|| {
            let words: Vec<_> = self.all.iter().map(|it| (self.word)(*it)).collect();
            let choice = choice(&word.text, &words);
            let message = format!("unknown {} `{}`; {choice}", self.noun, word.text);
            syn::Error::new_spanned(&word.tokens, message)
        })
    }
}

/// A whole number; the sample and the range in words are for errors.
pub(crate) fn number<T: FromStr>(item: &Item, sample: &str, range: &str) -> syn::Result<T> {
    let digits = parse(item, "a whole number", sample, |input| {
        let sign: Option<Token![-]> = input.parse()?;
        let digits: LitInt = input.parse()?;
        let sign = if sign.is_some() { "-" } else { "" };
        Ok(format!("{sign}{}", digits.base10_digits()))
    })?;
    digits.parse().map_err(|_| {
        let message = format!("`{}` takes {range}, not {digits}", item.name());
        item.error(message)
    })
}

/// An item without a value.
pub(crate) fn no_value(item: &Item) -> syn::Result<()> {
    match item.value() {
        None => Ok(()),
        Some(_) => Err(item.error(format!(
            "`{name}` takes no value; write only `{name}`",
            name = item.name()
        ))),
    }
}

/// A string literal that is not blank.
pub(crate) fn text(item: &Item) -> syn::Result<LitStr> {
    let text = parse(item, "a text in quotes", "\"…\"", |input| input.parse())?;
    refuse_blank(item, [&text])?;
    Ok(text)
}

/// One string literal, or several in brackets; none is blank.
pub(crate) fn texts(item: &Item) -> syn::Result<Vec<LitStr>> {
    let shape = "a text in quotes, or several in brackets";
    let texts = parse(item, shape, "[\"…\", \"…\"]", |input| {
        list(input, |input| input.parse())
    })?;
    refuse_blank(item, &texts)?;
    Ok(texts)
}

/// Reports every blank text.
fn refuse_blank<'a>(item: &Item, texts: impl IntoIterator<Item = &'a LitStr>) -> syn::Result<()> {
    let blank = texts.into_iter().filter(|it| it.value().trim().is_empty());
    let problems = blank.map(|text| {
        let message = format!("`{}` is blank; write a text, or leave it out", item.name());
        syn::Error::new(text.span(), message)
    });
    let combined = problems.reduce(|mut earlier, problem| {
        earlier.combine(problem);
        earlier
    });
    combined.map_or(Ok(()), Err)
}

/// A word, bare or in quotes.
pub(crate) fn word(item: &Item, sample: &str) -> syn::Result<Word> {
    parse(item, "a word, bare or in quotes", sample, one_word)
}

/// One word, several in brackets, or several in one text.
pub(crate) fn words(item: &Item) -> syn::Result<Vec<Word>> {
    let shape = "words in quotes, or bare words in brackets";
    let words = parse(item, shape, "\"wait, ask_human\"", |input| {
        list(input, one_word)
    })?;
    Ok(words.iter().flat_map(split_at_commas).collect())
}

/// `true` or `false`.
pub(crate) fn flag(item: &Item) -> syn::Result<bool> {
    let flag: LitBool = parse(item, "`true` or `false`", "true", |input| input.parse())?;
    Ok(flag.value)
}

/// A path, bare or in quotes.
pub(crate) fn path(item: &Item) -> syn::Result<Path> {
    parse(item, "the path of a crate", "::panpan_failure", |input| {
        if input.peek(LitStr) {
            return input.parse::<LitStr>()?.parse();
        }
        input.call(Path::parse_mod_style)
    })
}

/// Parses the whole value; the error states the expected shape.
fn parse<T>(
    item: &Item,
    shape: &str,
    sample: &str,
    parser: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<T> {
    let error = || {
        let name = item.name();
        item.error(format!("`{name}` takes {shape}; write `{name} = {sample}`"))
    };
    let value = item.value().cloned().ok_or_else(error)?;
    parser.parse2(value).map_err(|_| error())
}

fn list<T>(
    input: ParseStream<'_>,
    one: fn(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<Vec<T>> {
    if !input.peek(syn::token::Bracket) {
        return Ok(vec![one(input)?]);
    }
    let content;
    syn::bracketed!(content in input);
    let all = Punctuated::<T, Token![,]>::parse_terminated_with(&content, one)?;
    Ok(all.into_iter().collect())
}

fn one_word(input: ParseStream<'_>) -> syn::Result<Word> {
    if input.peek(Lit) {
        let literal: LitStr = input.parse()?;
        return Ok(Word {
            text: literal.value(),
            tokens: literal.into_token_stream(),
        });
    }
    let ident = input.call(Ident::parse_any)?;
    Ok(Word {
        text: ident.unraw().to_string(),
        tokens: TokenTree::from(ident).into(),
    })
}

fn split_at_commas(word: &Word) -> impl Iterator<Item = Word> {
    let parts = word.text.split(',').map(str::trim);
    parts.filter(|part| !part.is_empty()).map(|part| Word {
        text: part.to_owned(),
        tokens: word.tokens.clone(),
    })
}
