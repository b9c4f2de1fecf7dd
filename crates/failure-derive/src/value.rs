//! The values an item can have: texts, words of a vocabulary, numbers, flags, lists of them.
//!
//! Each reader accepts every spelling that has one meaning and explains any other.

use std::str::FromStr;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Lit, LitBool, LitInt, LitStr, Path, Token};

use crate::items::Item;
use crate::problems::choice;

/// A word and the tokens it was written as.
pub(crate) struct Word {
    pub(crate) text: String,
    tokens: TokenStream,
}

/// A vocabulary of the catalogue.
pub(crate) struct Vocabulary<T: 'static> {
    /// What one of its words is called.
    pub(crate) noun: &'static str,
    /// Every value.
    pub(crate) all: &'static [T],
    /// The word of a value.
    pub(crate) word: fn(T) -> &'static str,
}

impl<T: Copy> Vocabulary<T> {
    /// The value of an item that names one.
    pub(crate) fn read(&self, item: &Item) -> syn::Result<T> {
        let sample = self.all.first().map(|it| (self.word)(*it));
        self.find(&word(item, sample.unwrap_or_default())?)
    }

    /// The value a word stands for.
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

/// The numbers an item takes.
pub(crate) struct Numbers {
    /// One of them.
    pub(crate) sample: &'static str,
    /// All of them, in words.
    pub(crate) range: &'static str,
}

impl Numbers {
    /// A whole number.
    pub(crate) fn read<T: FromStr>(&self, item: &Item) -> syn::Result<T> {
        let digits = parse(item, "a whole number", self.sample, |input| {
            let sign: Option<Token![-]> = input.parse()?;
            let digits: LitInt = input.parse()?;
            let sign = if sign.is_some() { "-" } else { "" };
            Ok(format!("{sign}{}", digits.base10_digits()))
        })?;
        digits.parse().map_err(|_| {
            let message = format!("`{}` takes {}, not {digits}", item.name(), self.range);
            item.complain(message)
        })
    }
}

/// An item that is said by its name alone.
pub(crate) fn mark(item: &Item) -> syn::Result<()> {
    match item.value() {
        None => Ok(()),
        Some(_) => Err(item.complain(format!(
            "`{name}` takes no value; write `{name}` alone",
            name = item.name()
        ))),
    }
}

/// A string literal that says something.
pub(crate) fn text(item: &Item) -> syn::Result<LitStr> {
    let text = parse(item, "a text in quotes", "\"…\"", |input| input.parse())?;
    refuse_blank(item, [&text])?;
    Ok(text)
}

/// One text that says something, or several in brackets.
pub(crate) fn texts(item: &Item) -> syn::Result<Vec<LitStr>> {
    let shape = "a text in quotes, or several in brackets";
    let texts = parse(item, shape, "[\"…\", \"…\"]", |input| {
        list(input, |input| input.parse())
    })?;
    refuse_blank(item, &texts)?;
    Ok(texts)
}

/// Every text of nothing but white space is a problem of its own.
fn refuse_blank<'a>(item: &Item, texts: impl IntoIterator<Item = &'a LitStr>) -> syn::Result<()> {
    let blank = texts.into_iter().filter(|it| it.value().trim().is_empty());
    let problems = blank.map(|text| {
        let message = format!(
            "`{}` says nothing here; write a text, or leave it out",
            item.name()
        );
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

/// Words: one, several in brackets, or several in one text.
pub(crate) fn words(item: &Item) -> syn::Result<Vec<Word>> {
    let shape = "words in quotes, or bare ones in brackets";
    let written = parse(item, shape, "\"wait, ask_human\"", |input| {
        list(input, one_word)
    })?;
    Ok(written.iter().flat_map(at_commas).collect())
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

/// Parses the whole value, or says what it should have been.
fn parse<T>(
    item: &Item,
    shape: &str,
    sample: &str,
    parser: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<T> {
    let complaint = || {
        let name = item.name();
        item.complain(format!("`{name}` takes {shape}; write `{name} = {sample}`"))
    };
    let value = item.value().cloned().ok_or_else(complaint)?;
    parser.parse2(value).map_err(|_| complaint())
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

fn at_commas(word: &Word) -> impl Iterator<Item = Word> {
    let parts = word.text.split(',').map(str::trim);
    parts.filter(|part| !part.is_empty()).map(|part| Word {
        text: part.to_owned(),
        tokens: word.tokens.clone(),
    })
}
