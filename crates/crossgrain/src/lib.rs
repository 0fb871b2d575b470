//! crossgrain
