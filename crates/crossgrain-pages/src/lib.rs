//! Runs the Rust examples of the README files and of `docs/` as documentation tests.
//!
//! The pages are outside of the published crates, so a packaged crate could not read them.

/// Declares an item with a page as its documentation.
#[cfg(doctest)]
macro_rules! pages {
    ($($name:ident $path:literal,)*) => {
        $(#[doc = include_str!(concat!("../../../", $path))] struct $name;)*
    };
}

#[cfg(doctest)]
pages! {
    Readme "README.md",
    ReadmeOfLibrary "crates/crossgrain/README.md",
    ReadmeOfContainer "crates/crossgrain-container/README.md",
    ReadmeOfGpu "crates/crossgrain-gpu/README.md",
    ReadmeOfSearch "crates/crossgrain-search/README.md",
    Embed "docs/embed.md",
    Extend "docs/extend.md",
    Parallel "docs/parallel.md",
    Search "docs/search.md",
}
