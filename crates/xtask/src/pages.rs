//! Tables that a task makes and a page of the documentation holds: between two comments that name the task, so
//! that the text around them stays as people wrote it.

use std::fs;
use std::ops::Range;

use crate::{Result, root};

/// Puts a table into a page, from the root, in place of what its task made before.
///
/// # Errors
/// If the page cannot be read or written, or has no place for it.
pub(crate) fn put(page: &str, task: &str, table: &str) -> Result<()> {
    let (mut text, place) = opened(page, task)?;
    text.replace_range(place, &format!("\n{table}"));
    fs::write(root().join(page), text).map_err(|error| format!("{page}: {error}"))?;
    println!("{page} has it");
    Ok(())
}

/// Whether [`put`] will find its place: to be asked before long work.
///
/// # Errors
/// If the page cannot be read, or has no place.
pub(crate) fn expect(page: &str, task: &str) -> Result<()> {
    opened(page, task).map(drop)
}

/// A page, and where in it a task's table stands.
fn opened(page: &str, task: &str) -> Result<(String, Range<usize>)> {
    let text = fs::read_to_string(root().join(page)).map_err(|error| format!("{page}: {error}"))?;
    let place = place(&text, task).ok_or_else(|| format!("{page} has no place for `{}`", begin(task)))?;
    Ok((text, place))
}

/// What a page holds of a task, without the comments: for tests that hold it to what the task would make now.
#[cfg(test)]
pub(crate) fn between<'t>(text: &'t str, task: &str) -> Option<&'t str> {
    place(text, task).map(|place| &text[place])
}

/// Where in a page that is.
fn place(text: &str, task: &str) -> Option<Range<usize>> {
    let comment = begin(task);
    let start = text.find(&comment)? + comment.len();
    Some(start..start + text[start..].find(END)?)
}

const END: &str = "<!-- end -->";

fn begin(task: &str) -> String {
    format!("<!-- by cargo xtask {task} -->")
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn a_table_is_what_stands_between_its_comments() {
        let page =
            "a\n<!-- by cargo xtask b -->\n|x|\n<!-- end -->\nc\n<!-- by cargo xtask d -->\n<!-- end -->";
        assert_eq!(between(page, "b"), Some("\n|x|\n"));
        assert_eq!(between(page, "d"), Some("\n"));
        assert_eq!(between(page, "e"), None);
    }
}
