//! Generated tables in pages of the documentation. Two comments with the name of the task enclose each table;
//! the text around them is written by hand.

use std::fs;
use std::ops::Range;

use crate::{Result, root};

/// Replaces the table of a task in a page. The page is a path from the root.
///
/// # Errors
/// If the page cannot be read or written, or has no place for the table.
pub(crate) fn put(page: &str, task: &str, table: &str) -> Result<()> {
    let (mut text, place) = opened(page, task)?;
    text.replace_range(place, &format!("\n{table}"));
    fs::write(root().join(page), text).map_err(|error| format!("{page}: {error}"))?;
    println!("{page} has it");
    Ok(())
}

/// Checks that [`put`] will find its place, before long work begins.
///
/// # Errors
/// If the page cannot be read, or has no place.
pub(crate) fn expect(page: &str, task: &str) -> Result<()> {
    opened(page, task).map(drop)
}

/// A page, and the range of a task's table in it.
fn opened(page: &str, task: &str) -> Result<(String, Range<usize>)> {
    let text = fs::read_to_string(root().join(page)).map_err(|error| format!("{page}: {error}"))?;
    let place = place(&text, task).ok_or_else(|| format!("{page} has no place for `{}`", begin(task)))?;
    Ok((text, place))
}

/// A task's table in a page, without the comments, for tests that compare it with the task's present output.
#[cfg(test)]
pub(crate) fn between<'t>(text: &'t str, task: &str) -> Option<&'t str> {
    place(text, task).map(|place| &text[place])
}

/// The range of a task's table in a page.
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
